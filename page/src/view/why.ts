/** Why two records are near or far: columns, words, pixels, and the answers that did it. */

import { api } from "../api";
import { coalesced } from "../coalesce";
import { isPair } from "../logic/known";
import type { DataRecord, Pair, Why, WhyAnswer, WhyColumn, WhyWord } from "../logic/types";
import { changeWithout, heatPixels, markedWords } from "../logic/why";
import { counted, percent, short } from "../logic/words";
import { asked, asksAnew, type Model } from "../model";
import { announce } from "../notices";
import { showAll } from "../signal";
import { Comparisons } from "./comparison";
import { byId, closeButton, h, key, replace } from "./dom";
import { contactSheet } from "./legend";
import { CARD_PX, pictures } from "./picture";
import { recordName } from "./record";

/** The pair that is pointed at: the selected point and the one under the pointer, or that of the card. */
function pointedAt(model: Model): Pair | null {
  const [one, two] = [model.selected.value, model.hovered.value];
  if (one !== null && two !== null && one !== two) return { left: one, right: two };
  return asked(model);
}

/** Explain the pair that is pointed at, or close the explanation of it. */
export function toggleWhy(model: Model): void {
  const pair = pointedAt(model);
  const shown = model.why.value;
  if (pair === null && shown === null) {
    announce("There are no two records to explain: select a point and point at another one.");
  } else if (pair === null || (shown !== null && isPair(shown, pair))) closeWhy(model);
  else explain(model, pair);
}

export function explain(model: Model, { left, right }: Pair): void {
  if (left === right) return;
  model.why.set({ left, right });
  byId("why").focus();
}

/** The focus goes back to the question, unless it was elsewhere. */
export function closeWhy(model: Model): void {
  const had = byId("why").contains(document.activeElement);
  model.why.set(null);
  announce("Closed.");
  if (had) byId("question").focus();
}

export function whyButton(model: Model): HTMLElement {
  const button = h(
    "button",
    {
      type: "button",
      class: "quiet small",
      testid: "why-button",
      "aria-keyshortcuts": "y",
      "aria-controls": "why",
      title: "Why these two are as near as they are",
      on: {
        click: () => {
          const question = asked(model);
          const shown = model.why.value;
          if (question === null) return;
          if (shown !== null && isPair(shown, question)) closeWhy(model);
          else explain(model, question);
        },
      },
    },
    "Why?",
    key("y"),
  );
  showAll([...asksAnew(model), model.why], () => {
    const question = asked(model);
    const shown = model.why.value;
    button.toggleAttribute("disabled", question === null);
    button.hidden = question?.rows !== undefined; // there are no two
    const open = shown !== null && question !== null && isPair(shown, question);
    button.setAttribute("aria-expanded", String(open));
  });
  return button;
}

export function showWhy(model: Model): void {
  const section = byId("why");
  const body = h("div", { class: "why-body", testid: "why-body" });
  const close = closeButton("Close the explanation", "why-close", () => closeWhy(model));
  replace(
    section,
    h("div", { class: "card-head" }, h("h2", { id: "why-title", text: "Why?" }), close),
    body,
  );
  let onCard = false;

  const fill = coalesced(async () => {
    const pair = model.why.value;
    if (pair === null) return;
    const { left, right } = pair;
    try {
      const [why, records] = await Promise.all([
        api.why(left, right),
        model.records.pair(left, right),
      ]);
      if (model.why.value !== pair) return;
      replace(body, ...explanation(model, why, records));
      announce(sentence(why));
    } catch (problem) {
      if (model.why.value !== pair) return;
      const said = problem instanceof Error ? problem.message : "This cannot be explained.";
      replace(body, h("p", { class: "hint", text: said, testid: "why-problem" }));
    }
  });

  model.why.listen((pair) => {
    section.hidden = pair === null;
    model.looked.set(null);
    if (pair === null) return;
    const question = asked(model);
    onCard = question !== null && isPair(question, pair);
    replace(body, h("p", { class: "hint", text: "Looking for the reasons …" }));
    fill();
  });
  model.learned.listen(fill);
  // Nobody should see the reasons for the next pair before they have judged it.
  for (const source of asksAnew(model)) {
    source.listen(() => {
      const [pair, question] = [model.why.value, asked(model)];
      if (pair !== null && onCard && (question === null || !isPair(question, pair))) {
        model.why.set(null);
      }
    });
  }
}

function sentence({ distance, threshold, chance }: Why): string {
  const apart = `They are ${short(distance)} apart; up to ${short(threshold)} two records are called the same.`;
  return chance === null ? `${apart} Nothing is learned yet.` : apart;
}

function explanation(
  model: Model,
  why: Why,
  [a, b]: [DataRecord, DataRecord],
): (HTMLElement | null)[] {
  const together = why.answers.filter(({ change }) => change > 0);
  const apart = why.answers.filter(({ change }) => change < 0);
  return [
    h(
      "p",
      { class: "why-pair", dir: "auto", testid: "why-pair" },
      `${recordName(a)} and ${recordName(b)}`,
    ),
    h("p", { text: sentence(why), testid: "why-sentence" }),
    why.columns.length > 0 ? columns(why) : null,
    why.heat === null ? null : heat(why.heat, [a, b]),
    answers(model, "Answers that pulled them together", together, "why-together"),
    answers(model, "Answers that pushed them apart", apart, "why-apart"),
    answers(model, "Answered pairs that are nearest to these two", why.near, "why-near"),
    why.answers.length === 0
      ? h("p", { class: "hint", text: "No answer moved these two by itself.", testid: "why-none" })
      : null,
  ];
}

function columns({ columns: listed, others, n_others, words }: Why): HTMLElement {
  const most = Math.max(...listed.map(({ share }) => Math.abs(share)), Number.MIN_VALUE);
  return h(
    "div",
    {},
    h("h3", { text: "What sets them apart" }),
    h(
      "ol",
      { class: "why-columns", testid: "why-columns" },
      ...listed.map((one) => column(one, most, words[one.name] ?? [])),
    ),
    n_others > 0 &&
      h("p", { class: "hint", text: `${counted(n_others, "other column")}: ${percent(others)}` }),
  );
}

function column({ name, share, values }: WhyColumn, most: number, words: WhyWord[]): HTMLElement {
  const bar = h("span", {
    class: share < 0 ? "why-bar together" : "why-bar",
    "aria-hidden": "true",
  });
  bar.style.width = `${(100 * Math.abs(share)) / most}%`;
  const sides = ["left", "right"] as const;
  return h(
    "li",
    {},
    h(
      "div",
      { class: "why-head" },
      h("span", { class: "why-name", text: name, title: name, dir: "auto" }),
      h("span", { class: "why-share", text: percent(share) }),
      bar,
    ),
    values.some((value) => value !== "") &&
      h(
        "div",
        { class: "why-values" },
        ...sides.map((side, k) => h("span", { dir: "auto" }, ...marked(values[k], words, side))),
      ),
  );
}

function marked(value: string, words: WhyWord[], side: "left" | "right"): (HTMLElement | string)[] {
  if (value === "") return [h("span", { class: "empty", text: "empty" })];
  return markedWords(value, words, side).map(([text, share]) =>
    share === 0
      ? text
      : h("mark", {
          text,
          class: share < 0 ? "together" : "",
          title: `${share > 0 ? "sets them apart" : "brings them together"}: ${percent(Math.abs(share))}`,
        }),
  );
}

function heat(
  { height, width, shares }: NonNullable<Why["heat"]>,
  records: DataRecord[],
): HTMLElement {
  const picture = (record: DataRecord): HTMLElement => {
    const image = h("img", { alt: `Picture of ${recordName(record)}`, draggable: "false" });
    pictures.get(record.row, CARD_PX).then(
      (address) => {
        image.src = address;
      },
      () => undefined,
    );
    const canvas = h("canvas", { width, height, "aria-hidden": "true", testid: "why-heat" });
    const context = canvas.getContext("2d");
    context?.putImageData(new ImageData(heatPixels(shares), width, height), 0, 0);
    return h("div", { class: "why-picture" }, image, canvas);
  };
  return h(
    "div",
    {},
    h("h3", { text: "Where they differ" }),
    h("div", { class: "why-pictures" }, ...records.map(picture)),
    h("p", { class: "hint", text: "Orange sets them apart, blue brings them together." }),
  );
}

function answers(
  model: Model,
  title: string,
  listed: WhyAnswer[],
  testid: string,
): HTMLElement | null {
  if (listed.length === 0) return null;
  const comparisons = new Comparisons(model);
  return h(
    "div",
    { testid },
    h("h3", { text: title }),
    h("ul", { class: "why-answers rows" }, ...listed.map((one) => answer(model, one, comparisons))),
  );
}

/** Pressed, its two records are shown, and rings mark them on the map. */
function answer(model: Model, one: WhyAnswer, comparisons: Comparisons): HTMLElement {
  const item = h("li", {});
  const button = h(
    "button",
    {
      type: "button",
      class: "pick",
      "aria-expanded": "false",
      testid: "why-answer",
      on: {
        click: () => {
          const open = button.getAttribute("aria-expanded") === "true";
          button.setAttribute("aria-expanded", String(!open));
          if (open) comparisons.of(one).remove();
          else item.append(comparisons.of(one));
          model.looked.set(open ? null : one);
        },
      },
    },
    ...(model.lesson.has_images
      ? [contactSheet(model, [one.left, one.right])]
      : [h("span", { dir: "auto", text: `${one.names[0]} and ${one.names[1]}` })]),
    h("strong", { text: one.same ? "same" : "different" }),
    one.change !== undefined && h("small", { text: changeWithout(one.change) }),
  );
  item.append(button);
  return item;
}
