/** Doubtful pairs of records, those first whose answer would change most, and how good the groups are. */

import { answerReviewed, lookAtReview, nameOf } from "../actions";
import { isPair } from "../logic/known";
import { openPairs, stillAsked } from "../logic/review";
import type { Review, ReviewPair } from "../logic/types";
import { counted, percent, whole } from "../logic/words";
import type { Model } from "../model";
import { showAll } from "../signal";
import { Comparisons } from "./comparison";
import { h, replace } from "./dom";
import { download } from "./header";
import { estimate } from "./quality";
import { CHOICES } from "./question";

export function reviewPanel(model: Model): HTMLElement {
  const head = h("div", { class: "review-head" });
  const list = h("ol", { class: "rows review", testid: "review" });
  const comparisons = new Comparisons(model);

  const choose = (pair: ReviewPair | undefined): void => {
    if (pair !== undefined) model.reviewing.set(pair);
  };

  const draw = (): void => {
    if (model.panel.value !== "review") return;
    replace(head, ...standing(model));
    const pairs = openPairs(model.review.value, model.known.value);
    const buttons = (): HTMLElement[] => [...list.querySelectorAll("button")];
    const focused = buttons().indexOf(document.activeElement as never);
    replace(list, ...pairs.map((pair) => item(model, pair, comparisons.of(pair), choose)));
    comparisons.keepOnly(pairs);
    if (focused >= 0) buttons()[focused]?.focus({ preventScroll: true });
  };

  const focusChosen = (): void => {
    list.querySelector<HTMLElement>("[aria-current] .pick")?.focus();
  };

  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    const pairs = openPairs(model.review.value, model.known.value);
    const now = pairs.findIndex((pair) => isAsked(model, pair));
    choose(pairs[Math.max(0, Math.min(pairs.length - 1, now + step))]);
    focusChosen();
    event.preventDefault();
  });

  showAll([model.review, model.known], () => {
    const { review, reviewing, known } = model;
    reviewing.set(stillAsked(reviewing.value, review.value, known.value));
  });
  showAll([model.review, model.known, model.reviewing, model.panel, model.state], draw);
  model.panel.show((open) => {
    if (open === "review" && model.review.value === null) void lookAtReview(model);
  });
  return h("div", { class: "panel-body" }, head, list);
}

function isAsked(model: Model, pair: ReviewPair): boolean {
  const { value } = model.reviewing;
  return value !== null && isPair(value, pair);
}

function standing(model: Model): (HTMLElement | null)[] {
  const review = model.review.value;
  if (review === null) {
    return [
      h("p", { class: "hint", text: "The records are being compared.", testid: "comparing" }),
    ];
  }
  return [
    h(
      "dl",
      { class: "figures three" },
      h(
        "div",
        {},
        h("dt", { text: "Groups" }),
        h(
          "dd",
          { testid: "n-groups" },
          whole(review.n_groups),
          h("small", { text: ` of ${counted(review.n_grouped, "record")}` }),
        ),
      ),
      estimate("Precision", review.precision, "review-precision"),
      estimate("Recall", review.recall, "review-recall"),
    ),
    h("p", { class: "hint", text: terms(review), testid: "review-said" }),
    h(
      "div",
      { class: "row-actions" },
      h("button", {
        type: "button",
        class: "small",
        text: "Download groups",
        testid: "download-groups",
        on: { click: () => download(model, "groups") },
      }),
      review.version < model.state.value.version &&
        h("span", { class: "hint", text: "Your last answers are being learned from." }),
    ),
    h("h3", { text: "Doubtful pairs, by what an answer would change" }),
    review.pairs.length === 0 ? h("p", { class: "hint", text: "There are none." }) : null,
  ];
}

function terms({ n_answers }: Review): string {
  const by =
    n_answers === 0
      ? "without any answer, so that these figures are a guess"
      : `by ${counted(n_answers, "answer")}`;
  return `Of pairs within groups, expected with 90\u00a0% intervals, ${by}.`;
}

function item(
  model: Model,
  pair: ReviewPair,
  compared: HTMLElement,
  choose: (pair: ReviewPair) => void,
): HTMLElement {
  const asked = isAsked(model, pair);
  const chance = `${percent(pair.chance)} chance to be the same`;
  const answers = CHOICES.map(({ label, same, testid }) =>
    h("button", {
      type: "button",
      class: same === null ? "small quiet" : "small",
      text: label,
      "aria-label": `${label}: ${nameOf(model, pair.left)} and ${nameOf(model, pair.right)}`,
      testid: `review-${testid}`,
      on: { click: (event) => void answerReviewed(model, pair, same, event.timeStamp) },
    }),
  );
  return h(
    "li",
    {
      class: asked ? "chosen" : "",
      "aria-current": asked ? "true" : undefined,
      testid: "review-pair",
    },
    h(
      "button",
      {
        type: "button",
        class: "pick",
        tabindex: asked ? "0" : "-1",
        on: { click: () => choose(pair) },
      },
      h("span", { class: "chance", text: chance }),
      asked && h("span", { class: "hint", text: "is asked above" }),
    ),
    ...(asked ? [] : [compared, h("div", { class: "row-actions" }, ...answers)]),
  );
}
