/** The question card: two records side by side, and what to say of them. */

import { nameOf, noQuestionSentence, redo, say, undo } from "../actions";
import type { DataRecord, Same } from "../logic/types";
import { counted } from "../logic/words";
import { type Asked, asked, asksAnew, gone, type Model, purposeOf, wordsOf } from "../model";
import { showAll } from "../signal";
import { comparison } from "./comparison";
import { byId, h, key, replace } from "./dom";
import { CARD_PX, fetchPicture } from "./picture";
import { GONE } from "./saving";
import { chooserOf, equalAnswers, wordsField } from "./start";
import { whichBody, whichChoices } from "./which";
import { whyButton } from "./why";

/** Records of this many questions to come are fetched ahead. */
const AHEAD = 3;

const FIRST = "Each point is a record: answers bring alike ones together.";
const WHICH = "Which of these is it like?";

export interface Choice {
  label: string;
  key: string;
  same: Same;
  testid: string;
}

export const CHOICES: Choice[] = [
  { label: "Same", key: "s", same: true, testid: "same" },
  { label: "Different", key: "d", same: false, testid: "different" },
  { label: "Unsure", key: "u", same: null, testid: "unsure" },
];

export function showQuestion(model: Model): void {
  const title = h("h2", { id: "question-title" });
  const words = wordsField(model);
  const chooser = chooserOf(model);
  const hint = h("p", { class: "hint", testid: "question-hint" });
  const first = h("p", { class: "hint", text: FIRST });
  const body = h("div", {
    class: "compare",
    tabindex: "0",
    role: "group",
    "aria-label": "The two records",
    testid: "compare",
  });
  const choices = CHOICES.map(({ label, key: letter, same, testid }) =>
    h(
      "button",
      {
        type: "button",
        class: same === null ? "choice quiet" : "choice",
        "aria-keyshortcuts": letter,
        testid: `answer-${testid}`,
        on: { click: (event) => void say(model, same, event.timeStamp) },
      },
      label,
      key(letter),
    ),
  );
  const undoButton = h(
    "button",
    {
      type: "button",
      class: "quiet small",
      "aria-keyshortcuts": "z",
      testid: "undo",
      on: { click: () => void undo(model) },
    },
    "Undo",
    key("z"),
  );
  const redoButton = h(
    "button",
    {
      type: "button",
      class: "quiet small",
      "aria-keyshortcuts": "Shift+Z",
      testid: "redo",
      on: { click: () => void redo(model) },
    },
    "Redo",
    key("⇧z"),
  );
  const bar = h("div", { class: "choices" }, ...choices);
  const count = h("p", { class: "count", testid: "answers" });
  const groupChoices = whichChoices(model, () => asked(model));
  replace(
    byId("question"),
    h("div", { class: "card-head" }, title, words),
    h("div", { class: "card-line" }, hint, first, count),
    equalAnswers(model),
    chooser,
    body,
    bar,
    groupChoices,
    h("div", { class: "history" }, undoButton, whyButton(model), redoButton),
  );

  let shown: Asked | null | undefined;

  const fill = (): void => {
    const question = asked(model);
    if (shown !== undefined && isShown(question, shown)) return;
    shown = question;
    body.scrollTop = 0;
    if (question === null) {
      replace(body);
      return;
    }
    if (question.rows !== undefined) {
      replace(body, ...whichBody(model, question));
      return;
    }
    const { left, right } = question;
    const here = model.records.peekPair(left, right);
    const draw = ([a, b]: DataRecord[]): void => {
      if (shown?.left === left && shown.right === right) {
        const caption = "The two records of the question";
        replace(body, comparison(model, a, b, caption));
        state(); // names are known now
      }
    };
    if (here !== undefined) {
      draw(here);
      return;
    }
    void model.records.pair(left, right).then(draw, () => {
      replace(body, h("p", { class: "hint", text: "These records could not be read." }));
    });
  };

  const state = (): void => {
    const question = asked(model);
    const { n_answers, can_undo, can_redo } = model.state.value;
    byId("question").classList.toggle("resting", question === null);
    const beside = question?.rows !== undefined;
    const again = question?.title;
    title.textContent = again ?? (beside ? WHICH : words.value);
    const rewording = document.activeElement === words;
    words.hidden = !rewording && (again !== undefined || beside || purposeOf(model) === null);
    title.classList.toggle("unseen", again === undefined && !(beside && words.hidden));
    chooser.hidden = purposeOf(model) !== null;
    body.setAttribute("aria-label", beside ? "The record and the groups" : "The two records");
    body.classList.toggle("which", beside);
    body.classList.toggle("pictured", beside && model.lesson.has_images);
    bar.hidden = beside;
    groupChoices.hidden = !beside;
    hint.textContent =
      question === null
        ? noQuestionSentence(model)
        : (question.hint ?? (beside ? wordsOf(model) : ""));
    hint.hidden = purposeOf(model) === null;
    first.hidden = n_answers > 0 || purposeOf(model) !== "kinds" || hint.textContent !== "";
    // On a phone the bar stays while the records are out of sight.
    const brief = inBrief(model, title.textContent, question);
    for (const one of [bar, groupChoices]) one.setAttribute("data-title", brief);
    body.hidden = question === null;
    const dead = gone(model);
    for (const button of choices) {
      button.toggleAttribute("disabled", question === null || dead);
      button.title = dead ? GONE : "";
    }
    undoButton.toggleAttribute("disabled", !can_undo || dead);
    redoButton.hidden = !can_redo || dead;
    count.textContent = counted(n_answers, "answer");
  };

  byId("words-button").addEventListener("click", () => {
    words.hidden = false;
    words.focus();
    state();
  });
  words.addEventListener("blur", state);
  showAll([...asksAnew(model), model.report, model.connection], () => {
    state();
    fill();
  });
  // Names and examples of the groups that are shown may be others now.
  model.groups.listen(() => {
    if (shown?.rows === undefined) return;
    shown = undefined;
    fill();
  });
  model.report.listen(() => fetchAhead(model));
  fetchAhead(model);
}

/** Whether nothing is to be drawn anew. */
function isShown(question: Asked | null, shown: Asked | null): boolean {
  const names = (asked: Asked | null): string =>
    JSON.stringify([asked?.left, asked?.right, asked?.rows, asked?.groups]);
  return names(question) === names(shown);
}

/** What the answers are about, in a line. */
function inBrief(model: Model, title: string, question: Asked | null): string {
  if (question === null) return title;
  if (question.rows !== undefined) return `${title} ${nameOf(model, question.left)}`;
  const [one, two] = [question.left, question.right].map((row) => nameOf(model, row));
  return `${title} ① ${one} ② ${two}`;
}

function fetchAhead(model: Model): void {
  for (const { left, right } of model.report.value?.questions.slice(0, AHEAD) ?? []) {
    void model.records.pair(left, right).then(
      (both) => {
        for (const record of both) fetchPicture(record, CARD_PX);
      },
      () => undefined,
    );
  }
}
