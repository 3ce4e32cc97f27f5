/** Answers that the others contradict: to be withdrawn, or asked again. */

import { askAgain, withdraw } from "../actions";
import type { Suspect } from "../logic/types";
import type { Model } from "../model";
import { showAll } from "../signal";
import { Comparisons } from "./comparison";
import { contradictionsList } from "./contradictions";
import { h, key, replace } from "./dom";
import { recordLine } from "./record";

export function suspectsList(model: Model): HTMLElement {
  const title = h("h3", { text: "What looks wrong" });
  const list = h("ul", { class: "rows", testid: "suspects" });
  const contradictions = h("div");
  const body = h("section", { class: "section" }, contradictions, title, list);
  const comparisons = new Comparisons(model);

  const suspects = (): Suspect[] => model.report.value?.suspects ?? [];

  const choose = (index: number): void => {
    const last = suspects().length - 1;
    model.suspect.set(Math.max(0, Math.min(last, index)));
  };

  const draw = (): void => {
    if (model.panel.value !== "said") return;
    const had = list.contains(document.activeElement);
    const all = suspects();
    if (model.suspect.value >= all.length) choose(all.length - 1);
    title.hidden = all.length === 0;
    replace(contradictions, contradictionsList(model));
    replace(list, ...all.map((suspect, index) => row(suspect, index)));
    comparisons.keepOnly(all);
    if (had) focusChosen();
  };

  const focusChosen = (): void => {
    list.querySelector<HTMLElement>("[aria-current] .pick")?.focus();
  };

  const row = (suspect: Suspect, index: number): HTMLElement => {
    const chosen = index === model.suspect.value;
    return h(
      "li",
      {
        class: chosen ? "chosen" : "",
        "aria-current": chosen ? "true" : undefined,
        testid: "suspect",
      },
      h(
        "button",
        {
          type: "button",
          class: "pick",
          tabindex: chosen ? "0" : "-1",
          on: { click: () => choose(index) },
        },
        h("span", { text: suspect.said, dir: "auto" }),
        !chosen && recordLine(model, suspect.left),
        !chosen && recordLine(model, suspect.right),
      ),
      chosen && comparisons.of(suspect),
      h(
        "div",
        { class: "row-actions" },
        h(
          "button",
          {
            type: "button",
            class: "small",
            testid: "withdraw",
            "aria-keyshortcuts": "w",
            on: { click: () => void withdraw(model, suspect) },
          },
          "Withdraw",
          chosen ? key("w") : null,
        ),
        h("button", {
          type: "button",
          class: "small quiet",
          text: "Ask again",
          testid: "ask-again",
          on: { click: () => askAgain(model, suspect) },
        }),
      ),
    );
  };

  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    choose(model.suspect.value + step);
    focusChosen();
    event.preventDefault();
  });

  showAll([model.report, model.suspect, model.panel], draw);
  return body;
}
