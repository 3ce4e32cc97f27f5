/** What is asked: chosen once, at the start, in words that can be changed at any time. */

import { ask } from "../actions";
import { api } from "../api";
import { type Model, purposeOf, WORDS, wordsOf } from "../model";
import { notifyProblem } from "../notices";
import { reloadPage } from "../settled";
import { showAll } from "../signal";
import { h, replace } from "./dom";

/** As many characters as the server takes. */
const LONGEST = "60";

const CHOICES: { purpose: "kinds" | "things"; title: string; about: string }[] = [
  {
    purpose: "kinds",
    title: "Which of these are the same kind of thing?",
    about: "Topics, species, styles: a distance is learned, and groups of what is alike.",
  },
  {
    purpose: "things",
    title: "Which are the same thing twice?",
    about: "One person, place or article that is listed more than once: duplicates are found.",
  },
];

/** In the place of the first question, where both could be meant. */
export function chooserOf(model: Model): HTMLElement {
  return h(
    "div",
    { class: "chooser", hidden: true, testid: "chooser" },
    h("p", { text: "What do you want to find out?" }),
    ...CHOICES.map(({ purpose, title, about }) =>
      h(
        "button",
        {
          type: "button",
          testid: `ask-${purpose}`,
          on: { click: () => void ask(model, { purpose, words: WORDS[purpose] }) },
        },
        h("strong", { text: title }),
        h("span", { class: "hint", text: about }),
      ),
    ),
  );
}

/** The question above the card, which can be put in other words: "Same topic?" */
export function wordsField(model: Model): HTMLInputElement {
  const field = h("input", {
    type: "text",
    class: "words",
    maxlength: LONGEST,
    "aria-label": "What is asked, in your words",
    title: "Put the question in your own words, such as “Same topic?”",
    autocomplete: "off",
    dir: "auto",
    testid: "words",
  });
  const save = (): void => {
    const words = field.value.trim();
    const purpose = purposeOf(model);
    if (words === "" || purpose === null) field.value = wordsOf(model);
    else if (words !== wordsOf(model)) void ask(model, { purpose, words });
  };
  field.addEventListener("change", save);
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    if (event.key === "Escape") field.value = wordsOf(model);
    field.blur();
    event.preventDefault();
    event.stopPropagation();
  });
  showAll([model.state], () => {
    if (document.activeElement !== field) field.value = wordsOf(model);
  });
  return field;
}

/** What ten equal answers in a row may mean. */
const NOTHING_ELSE: Record<"kinds" | "things", Record<string, string>> = {
  kinds: {
    same: " Perhaps there is one kind only, or the question is too wide.",
    different: " Perhaps no two are of one kind, or the question is too narrow.",
  },
  things: {
    same: " What is asked about may be all duplicates: look at what was found.",
    different: " Perhaps no more duplicates are left to be found.",
  },
};

/** Ten answers in a row that say the same tell little: a column may be why, and can be left out. */
export function equalAnswers(model: Model): HTMLElement {
  const box = h("div", { class: "equal", role: "status", hidden: true, testid: "equal-answers" });
  let dismissed = false;
  showAll([model.state], () => {
    const { equal } = model.state.value;
    if (equal === null) dismissed = false;
    box.hidden = equal === null || dismissed;
    if (equal === null || dismissed) return;
    const said = equal.same ? "same" : "different";
    const { column } = equal;
    const button = (text: string, testid: string, press: () => void): HTMLElement =>
      h("button", { type: "button", class: "small", text, testid, on: { click: press } });
    const why =
      column === null
        ? (NOTHING_ELSE[purposeOf(model) ?? "kinds"][said] ?? "")
        : ` “${column}” is ${equal.same ? "another" : "the same"} in all of these pairs: it may say where they come from.`;
    replace(
      box,
      h("p", { text: `Ten times “${said}” in a row.${why}`, dir: "auto" }),
      column !== null &&
        button("Learn without it", "leave-out", () => void leaveOut(column).catch(notifyProblem)),
      button("Go on", "go-on", () => {
        dismissed = true;
        box.hidden = true;
      }),
    );
  });
  return box;
}

async function leaveOut(column: string): Promise<void> {
  const { columns } = await api.learnedColumns();
  const others = columns.filter(({ name, learned }) => learned && name !== column);
  await api.learnFrom(
    others.map(({ name }) => name),
    null,
  );
  reloadPage();
}
