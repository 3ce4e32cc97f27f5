/** Answers that contradict each other: a chain of records that are the same, whose ends are said to differ. */

import { askAgain } from "../actions";
import type { Contradiction, Suspect } from "../logic/types";
import type { Model } from "../model";
import { h } from "./dom";
import { recordLine } from "./record";

/** What was said, as something that can be asked again. */
function linksOf({ left, right, chain }: Contradiction): Suspect[] {
  const link = (a: number, b: number, same: boolean): Suspect => ({
    left: Math.min(a, b),
    right: Math.max(a, b),
    same,
    number: 0,
    which: null,
    chance_opposite: 0,
    said: "",
  });
  return [link(left, right, false), ...chain.slice(1).map((row, k) => link(chain[k], row, true))];
}

export function contradictionsList(model: Model): HTMLElement | null {
  const all = model.report.value?.contradictions ?? [];
  if (all.length === 0) return null;
  return h(
    "section",
    { testid: "contradictions", "aria-label": "Answers that contradict each other" },
    h("h3", { text: "These answers contradict each other" }),
    ...all.map((one) =>
      h(
        "ul",
        { class: "rows", testid: "contradiction" },
        ...linksOf(one).map((link) => line(model, link)),
      ),
    ),
  );
}

function line(model: Model, link: Suspect): HTMLElement {
  return h(
    "li",
    {},
    h("span", { text: link.same ? "Said to be the same:" : "Said to be different:" }),
    recordLine(model, link.left),
    recordLine(model, link.right),
    h(
      "div",
      { class: "row-actions" },
      h("button", {
        type: "button",
        class: "small quiet",
        text: "Ask again",
        testid: "ask-contradiction",
        on: { click: () => askAgain(model, link) },
      }),
    ),
  );
}
