/** The list of answers, the newest first: to be searched, looked at again, flipped and deleted. */

import { deleteAnswer, sayInstead, showAnswered } from "../answer_list";
import { type AnswerQuery, api } from "../api";
import { coalesced } from "../coalesce";
import { giveKeysBack } from "../keys";
import { momentInWords, otherWords, saidInWords, whoAndWhen } from "../logic/answers";
import type { Answered, AnswerList, Voice } from "../logic/types";
import { counted, whole } from "../logic/words";
import type { Model } from "../model";
import { notifyProblem } from "../notices";
import { afterPause } from "../settled";
import { h, replace } from "./dom";
import { recordLine } from "./record";

const PAGE = 20;
const AFTER_TYPING_MS = 200;

const KINDS: [string, string][] = [
  ["", "all answers"],
  ["same", "same"],
  ["different", "different"],
  ["unsure", "unsure"],
];

export function answersList(model: Model): HTMLElement {
  const search = h("input", {
    type: "search",
    placeholder: "text, id or name",
    "aria-label": "Search answers",
    maxlength: "200",
    autocomplete: "off",
    testid: "search-answers",
  });
  const kind = choice("Which answers", "answers-said", KINDS);
  const who = choice("Who answered", "answers-by", [["", "everybody"]]);
  const count = h("p", { class: "hint", role: "status", testid: "answers-found" });
  const list = h("ol", { class: "rows answered", testid: "answer-list" });
  const older = turn("Older", "older-answers");
  const newer = turn("Newer", "newer-answers");
  const pager = h("div", { class: "row-actions pager" }, newer, older);
  let start = 0;
  let shown = "";

  const query = (): AnswerQuery => ({
    start,
    n: PAGE,
    ...(search.value.trim() === "" ? {} : { text: search.value.trim() }),
    ...(kind.value === "" ? {} : { said: kind.value }),
    ...(who.value === "" ? {} : { by: who.value }),
  });

  const draw = (found: AnswerList): void => {
    const at = focusIn(list);
    replace(list, ...found.answers.map((item) => row(model, item)));
    giveFocus(list, at);
    const last = start + found.answers.length;
    const range = found.n_found > PAGE ? `, ${whole(start + 1)} to ${whole(last)} shown` : "";
    count.textContent =
      found.n_answers === 0
        ? "Nothing was answered yet."
        : found.n_found === found.n_answers
          ? `${counted(found.n_found, "answer")}${range}.`
          : `${whole(found.n_found)} of ${counted(found.n_answers, "answer")} found${range}.`;
    older.disabled = last >= found.n_found;
    newer.disabled = start === 0;
    pager.hidden = older.disabled && newer.disabled;
    showNames(who, found.names);
  };

  const load = coalesced(async () => {
    if (model.panel.value !== "said") return;
    try {
      const asked = query();
      const found = await api.answers(asked);
      // After a deletion the last page may be empty.
      if (found.answers.length === 0 && start > 0) {
        start = Math.max(0, Math.floor((found.n_found - 1) / PAGE) * PAGE);
        return load();
      }
      const text = JSON.stringify(found);
      if (text !== shown) draw(found);
      shown = text;
    } catch (problem) {
      notifyProblem(problem);
    }
  });
  const anew = (): void => {
    start = 0;
    load();
  };
  const go = (step: number): void => {
    start = Math.max(0, start + step * PAGE);
    load();
    list.closest(".panel-body")?.scrollTo({ top: 0 });
  };

  search.addEventListener("input", afterPause(anew, AFTER_TYPING_MS, "pending").start);
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" && event.key !== "Enter") return;
    if (event.key === "Escape" && search.value !== "") {
      search.value = "";
      anew();
    }
    search.blur();
    event.preventDefault();
    event.stopPropagation();
  });
  for (const select of [kind, who]) {
    select.addEventListener("change", anew);
    giveKeysBack(select);
  }
  older.addEventListener("click", () => go(1));
  newer.addEventListener("click", () => go(-1));
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    const picks = [...list.querySelectorAll<HTMLElement>(".pick")];
    const own = document.activeElement?.closest("li")?.querySelector<HTMLElement>(".pick");
    picks[Math.max(0, Math.min(picks.length - 1, picks.indexOf(own as never) + step))]?.focus();
    event.preventDefault();
  });
  model.state.listen((state, before) => state.version !== before.version && load());
  model.panel.show(load);
  return h(
    "section",
    { class: "section", "aria-label": "What was said" },
    h("div", { class: "answers-filter" }, search, kind, who),
    count,
    list,
    pager,
  );
}

function choice(label: string, testid: string, options: [string, string][]): HTMLSelectElement {
  return h(
    "select",
    { "aria-label": label, testid },
    ...options.map(([value, text]) => h("option", { value, text })),
  );
}

function turn(text: string, testid: string): HTMLButtonElement {
  return h("button", { type: "button", class: "small quiet", text, testid });
}

function showNames(who: HTMLSelectElement, names: string[]): void {
  who.hidden = names.length < 2 && who.value === "";
  const now = [...who.options].slice(1).map(({ value }) => value);
  if (JSON.stringify(now) === JSON.stringify(names)) return;
  const { value } = who;
  replace(
    who,
    h("option", { value: "", text: "everybody" }),
    ...names.map((name) => h("option", { value: name, text: name })),
  );
  who.value = names.includes(value) ? value : "";
}

/** Which button has the focus, as the answer and what it does. */
function focusIn(list: HTMLElement): [string, string] | null {
  const focused = document.activeElement;
  if (focused === null || !list.contains(focused)) return null;
  const { item = "" } = focused.closest("li")?.dataset ?? {};
  return [item, focused.getAttribute("data-testid") ?? ""];
}

function giveFocus(list: HTMLElement, at: [string, string] | null): void {
  if (at === null) return;
  const own = list.querySelector<HTMLElement>(`[data-item="${at[0]}"]`);
  const next = own ?? list.querySelector<HTMLElement>("li");
  const button = next?.querySelector<HTMLElement>(`[data-testid="${at[1]}"]`);
  (button ?? next?.querySelector<HTMLElement>(".pick"))?.focus({ preventScroll: true });
}

function row(model: Model, item: Answered): HTMLElement {
  const [left, right] = item.ids;
  const of = `${left} and ${right}`;
  const now = new Date();
  const button = (text: string, testid: string, press: () => void): HTMLElement =>
    h("button", {
      type: "button",
      class: "small quiet",
      text,
      testid,
      "aria-label": `${text}: ${of}`,
      on: { click: press },
    });
  return h(
    "li",
    { "data-item": String(item.number), testid: "answered" },
    h(
      "button",
      {
        type: "button",
        class: "pick",
        testid: "show-answered",
        title: "Show these two on the card and on the map",
        on: { click: () => showAnswered(model, item) },
      },
      recordLine(model, item.left),
      recordLine(model, item.right),
      h(
        "span",
        { class: "answered-said" },
        h("strong", { class: `said ${item.said}`, text: saidInWords(item) }),
        h("span", { class: "hint", text: whoAndWhen(item, now), dir: "auto" }),
      ),
    ),
    item.voices.length > 1 && voices(item.voices, now),
    h(
      "div",
      { class: "row-actions" },
      ...otherWords(item).map((word) =>
        button(`Say ${word}`, `say-${word}`, () => void sayInstead(model, item, word)),
      ),
      button("Delete", "delete-answer", () => void deleteAnswer(model, item)),
    ),
  );
}

function voices(all: Voice[], now: Date): HTMLElement {
  const said = ({ by, said, at }: Voice): string =>
    `${by}: ${said}${at === null ? "" : `, ${momentInWords(at, now)}`}`;
  return h(
    "ul",
    { class: "voices", testid: "voices" },
    ...all.map((voice) => h("li", { text: said(voice), dir: "auto" })),
  );
}
