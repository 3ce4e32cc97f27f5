/** How good the learned metric is, on answers that were held out. */

import type { Estimate, Quality, State } from "../logic/types";
import { fixed, whole } from "../logic/words";
import type { Model } from "../model";
import { showAll } from "../signal";
import { answerersSection } from "./answerers";
import { qualityChart } from "./charts";
import { h, replace } from "./dom";

export function qualitySection(model: Model): HTMLElement {
  const body = h("section", { class: "section", testid: "details" });
  showAll([model.report, model.state], () =>
    replace(body, ...counts(model.state.value), ...heldOut(model), ...outlook(model)),
  );
  return h("div", {}, body, answerersSection(model));
}

function counts(state: State): HTMLElement[] {
  const figure = (label: string, n: number, testid: string): HTMLElement =>
    h("div", {}, h("dt", { text: label }), h("dd", { text: whole(n), testid }));
  return [
    h(
      "dl",
      { class: "figures" },
      figure("Same", state.n_same, "n-same"),
      figure("Different", state.n_different, "n-different"),
      figure("Unsure", state.n_unsure, "n-unsure"),
      figure("Conflicts", state.conflicts, "n-conflicts"),
    ),
  ];
}

function heldOut(model: Model): (HTMLElement | SVGElement)[] {
  const heading = h("h3", { text: "Quality on held-out answers" });
  const report = model.report.value;
  if (report === null) return [heading, h("p", { class: "hint", text: "Not measured yet." })];
  const { enough, said, figures } = report.quality;
  const sentence = h("p", { class: "hint", text: said, testid: "quality-said" });
  if (!enough) return [heading, sentence];
  const { auc, euclidean_auc } = figures;
  const words = `Pair AUC ${fixed(auc[0])} with the learned metric, ${fixed(euclidean_auc[0])} with the Euclidean distance.`;
  return [
    heading,
    h(
      "dl",
      { class: "figures two" },
      estimate("Learned, pair AUC", auc, "auc", "learned"),
      estimate("Euclidean", euclidean_auc, "euclidean-auc", "euclidean"),
    ),
    ...(report.course.length > 0
      ? [qualityChart(report.course, `${words} Over the number of answers.`)]
      : []),
    sentence,
    ...intervals(figures),
  ];
}

const FIGURES = { precision: "Precision", recall: "Recall", f1: "F1" };

/** A figure with the ends of its interval. */
export function estimate(
  title: string,
  [value, low, high]: Estimate,
  testid: string,
  kind = "",
): HTMLElement {
  const ends = h("small", { text: ` ${fixed(low)} to ${fixed(high)}` });
  return h(
    "div",
    { class: kind },
    h("dt", { text: title }),
    h("dd", { testid }, fixed(value), ends),
  );
}

/** What is to be expected, and between which ends in nine cases of ten. */
function intervals(figures: Quality["figures"]): HTMLElement[] {
  const shown = Object.entries(FIGURES).flatMap(([name, title]) => {
    const found = figures[name];
    return found === undefined ? [] : [estimate(title, found, `figure-${name}`)];
  });
  if (shown.length === 0) return [];
  const terms =
    "With 90 % intervals, for pairs like those answered. Precision and F1 are those where same and different are equally frequent.";
  return [h("dl", { class: "figures two" }, ...shown), h("p", { class: "hint", text: terms })];
}

/** What the next answers are expected to gain. */
function outlook(model: Model): HTMLElement[] {
  const said = model.report.value?.outlook.said ?? "";
  if (said === "") return [];
  const sentence = `${said[0].toUpperCase()}${said.slice(1)}`;
  return [
    h("h3", { text: "More answers?" }),
    h("p", { class: "hint", text: sentence, testid: "outlook-said" }),
  ];
}
