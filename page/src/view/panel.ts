/** One panel below the card: a line on how good the distance is, what looks wrong, what was said, the selected point. */

import { counted } from "../logic/words";
import { type Model, purposeOf } from "../model";
import { showAll } from "../signal";
import { answersList } from "./answers";
import { byId, h, replace } from "./dom";
import { openDuplicates } from "./duplicates";
import { pointSection } from "./point";
import { qualitySection } from "./quality";
import { suspectsList } from "./suspects";

export function showPanel(model: Model): void {
  const line = h("p", { class: "panel-line", testid: "quality-line" });
  const toggle = (name: "said" | "details", text: string): HTMLButtonElement =>
    h("button", {
      type: "button",
      class: "small quiet",
      text,
      testid: `panel-${name}`,
      "aria-controls": "panel-body",
      on: { click: () => model.panel.set(model.panel.value === name ? "closed" : name) },
    });
  const said = toggle("said", "Answers");
  const details = toggle("details", "Details");
  const browse = h("button", {
    type: "button",
    class: "small",
    testid: "browse",
    "aria-keyshortcuts": "r",
    text: "Browse",
    title: "Look at the duplicates, group by group",
    on: { click: () => openDuplicates(model) },
  });
  const parts = {
    said: h("div", { testid: "said" }, suspectsList(model), answersList(model)),
    details: qualitySection(model),
    point: pointSection(model),
  };
  const body = h("div", { id: "panel-body", class: "panel-body" }, ...Object.values(parts));
  replace(byId("panel"), h("div", { class: "panel-head" }, line, browse, said, details), body);

  model.panel.show((open) => {
    byId("side").classList.toggle("opened", open !== "closed");
    body.hidden = open === "closed";
    for (const [name, part] of Object.entries(parts)) part.hidden = name !== open;
    said.setAttribute("aria-expanded", String(open === "said"));
    details.setAttribute("aria-expanded", String(open === "details"));
  });
  model.selected.listen((row) => {
    if (row !== null) model.panel.set("point");
    else if (model.panel.value === "point") model.panel.set("closed");
  });
  showAll([model.report, model.state, model.review], () => {
    line.textContent = summary(model);
    line.title = `${line.textContent} ${model.report.value?.outlook.said ?? ""}`;
    const wrong = (model.report.value?.suspects.length ?? 0) + contradictions(model);
    said.textContent = wrong > 0 ? `Answers, ${wrong} odd` : "Answers";
    browse.hidden = purposeOf(model) !== "things" || !model.review.value?.n_groups;
  });
}

function contradictions({ report }: Model): number {
  return report.value?.contradictions.length ?? 0;
}

const LITTLE = 0.005;
/** Where the interval is wider, its middle says nothing. */
const WIDEST = 0.3;

/** How good the distance is, and what ten more answers would gain, in a line. */
function summary(model: Model): string {
  const review = model.review.value;
  if (purposeOf(model) === "things") {
    if (review === null) return "";
    const { n_groups } = review;
    return n_groups === 0
      ? "No duplicates so far."
      : `${counted(n_groups, "group")} of duplicates.`;
  }
  const report = model.report.value;
  if (report === null) return "";
  const [auc, low, high] = report.quality.figures.auc ?? [0, 0, 1];
  if (high - low > WIDEST) return "Quality: too early to tell.";
  const { gain } = report.outlook;
  const about = `Quality ${auc.toFixed(2)} of 1`;
  if (gain === null) return `${about}.`;
  return gain < LITTLE || auc + gain > 1
    ? `${about}; more answers gain little.`
    : `${about}; ten more answers: +${gain.toFixed(2)}.`;
}
