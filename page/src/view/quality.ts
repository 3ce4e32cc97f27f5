/** How good the learned metric is, on answers that were held out. */

import type { Estimate, Quality, Report, State } from "../logic/types";
import { fixed, percent, whole } from "../logic/words";
import type { Model } from "../model";
import { showAll } from "../signal";
import { answerersSection } from "./answerers";
import { type QualityPoint, qualityChart, spectrumChart } from "./charts";
import { h, replace } from "./dom";
import { outlookLines } from "./outlook";

const POINTS_KEPT = 300;

/** The quality after so many answers, from reports as they came; an undone answer takes its point back. */
export function extendedCourse(
  course: QualityPoint[],
  report: Report,
  answers: number,
): QualityPoint[] {
  const { auc, euclidean_auc, error, enough } = report.quality;
  if (!enough || auc === null || euclidean_auc === null) return course;
  const point = { answers, auc, euclidean: euclidean_auc, error: error ?? 0 };
  return [...course.filter((old) => old.answers < answers), point].slice(-POINTS_KEPT);
}

export function qualityPanel(model: Model): HTMLElement {
  const body = h("div", { class: "panel-body" });
  let course: QualityPoint[] = [];
  model.report.show((report) => {
    if (report !== null) course = extendedCourse(course, report, model.state.value.n_answers);
  });
  showAll([model.report, model.state], () =>
    replace(
      body,
      ...counts(model.state.value),
      ...heldOut(model, course),
      ...(model.report.value ? outlookLines(model.report.value.outlook) : []),
      ...spectrum(model),
    ),
  );
  return h("div", {}, body, answerersSection(model));
}

function counts(state: State): HTMLElement[] {
  const figure = (label: string, n: number, testid: string): HTMLElement =>
    h("div", {}, h("dt", { text: label }), h("dd", { text: whole(n), testid }));
  const { n_triplets } = state;
  return [
    h(
      "dl",
      { class: "figures" },
      figure("Same", state.n_same, "n-same"),
      figure("Different", state.n_different, "n-different"),
      figure("Unsure", state.n_unsure, "n-unsure"),
      figure("Conflicts", state.conflicts, "n-conflicts"),
      n_triplets > 0 && figure("Triplets", n_triplets, "n-triplets"),
    ),
  ];
}

function heldOut(model: Model, course: QualityPoint[]): (HTMLElement | SVGElement)[] {
  const heading = h("h3", { text: "Quality on held-out answers" });
  const report = model.report.value;
  if (report === null) return [heading, h("p", { class: "hint", text: "Not measured yet." })];
  const { auc, euclidean_auc, error, enough, said, figures } = report.quality;
  const sentence = h("p", { class: "hint", text: said, testid: "quality-said" });
  if (!enough || auc === null || euclidean_auc === null) return [heading, sentence];
  const words = `Pair AUC ${fixed(auc)} with the learned metric, ${fixed(euclidean_auc)} with the Euclidean distance.`;
  return [
    heading,
    h(
      "dl",
      { class: "figures two" },
      h(
        "div",
        { class: "learned" },
        h("dt", { text: "Learned, pair AUC" }),
        h(
          "dd",
          { testid: "auc" },
          fixed(auc),
          error !== null && h("small", { text: ` ± ${fixed(error)}` }),
        ),
      ),
      h(
        "div",
        { class: "euclidean" },
        h("dt", { text: "Euclidean" }),
        h("dd", { text: fixed(euclidean_auc), testid: "euclidean-auc" }),
      ),
    ),
    ...(course.length > 0 ? [qualityChart(course, `${words} Over the number of answers.`)] : []),
    sentence,
    ...intervals(figures),
  ];
}

const FIGURES = { auc: "Pair AUC", precision: "Precision", recall: "Recall", f1: "F1" };

/** A figure with the ends of its interval. */
export function estimate(title: string, [value, low, high]: Estimate, testid: string): HTMLElement {
  const ends = h("small", { text: ` ${fixed(low)} to ${fixed(high)}` });
  return h("div", {}, h("dt", { text: title }), h("dd", { testid }, fixed(value), ends));
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

function spectrum(model: Model): (HTMLElement | SVGElement)[] {
  const shares = model.report.value?.spectrum;
  if (!shares || shares.after.length === 0) return [];
  const first = (values: number[]): string =>
    percent(values.slice(0, 3).reduce((a, b) => a + b, 0));
  const words = `The three largest directions have ${first(shares.after)} of the variance in the learned metric, ${first(shares.before)} before.`;
  return [
    h("h3", { text: "Spectrum" }),
    h(
      "p",
      { class: "key-line" },
      h("span", { class: "swatch after" }),
      "learned",
      h("span", { class: "swatch before" }),
      "Euclidean",
    ),
    spectrumChart(shares.before, shares.after, words),
    h("p", { class: "hint", text: words }),
    h("p", { class: "hint" }, `Learner: ${model.report.value?.learner ?? ""}`),
  ];
}
