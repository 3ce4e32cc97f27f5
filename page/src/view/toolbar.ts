/** Above the map: what points are coloured by, lines on or off, lasso or moving about. */

import { showFoundGroups } from "../grouping";
import { giveKeysBack } from "../keys";
import type { Model } from "../model";
import { namesToggle } from "../scatter/names";
import type { Plot } from "../scatter/plot";
import { byId, h, key, replace } from "./dom";
import { mapSelect } from "./map_choice";

const FEWEST_CLUSTERS = 2;
const MOST_CLUSTERS = 100;

export function showToolbar(model: Model, plot: Plot | null): void {
  const select = colourSelect(model);
  const clusters = clusterNumber(model);
  const colour = h(
    "div",
    { class: "tool" },
    h("label", { for: "colour-by", text: "Colour" }),
    select,
    clusters,
  );
  replace(
    byId("toolbar"),
    ...(plot === null
      ? []
      : [
          mapSelect(model),
          colour,
          findButton(model),
          namesToggle(model),
          linesToggle(model),
          ...modes(model, plot),
        ]),
  );
}

function colourSelect(model: Model): HTMLSelectElement {
  const option = ({ key: value, name }: { key: string; name: string }): HTMLElement =>
    h("option", { value, text: name });
  const all = model.lesson.colourings;
  const part = (prefix: string, label: string): HTMLElement | null => {
    const some = all.filter((colouring) => colouring.key.startsWith(prefix));
    return some.length === 0 ? null : h("optgroup", { label }, ...some.map(option));
  };
  const learned = all.filter(({ key: name }) => !/^(column|feature)-/.test(name));
  const select = h(
    "select",
    { id: "colour-by", testid: "colour-by" },
    h("option", { value: "", text: "None" }),
    ...learned.map(option),
    part("column-", "Columns"),
    part("feature-", "Features"),
  );
  select.addEventListener("change", () => model.colouringKey.set(select.value));
  giveKeysBack(select);
  model.colouringKey.show((value) => {
    select.value = value;
  });
  return select;
}

function clusterNumber(model: Model): HTMLElement {
  const most = Math.min(MOST_CLUSTERS, model.lesson.n_rows);
  const input = h("input", {
    type: "number",
    min: String(Math.min(FEWEST_CLUSTERS, most)),
    max: String(most),
    value: String(model.clusters.value),
    "aria-label": "Number of clusters",
    testid: "clusters",
  });
  input.addEventListener("change", () => {
    const n = Math.round(Number(input.value));
    const valid = Number.isFinite(n) && n >= FEWEST_CLUSTERS && n <= most;
    if (valid) model.clusters.set(n);
    input.value = String(model.clusters.value);
  });
  model.colouringKey.show((name) => {
    input.hidden = name !== "clusters";
  });
  return input;
}

function findButton(model: Model): HTMLElement {
  const button = h("button", {
    type: "button",
    testid: "find-groups",
    title: "Group all points by the learned metric, and colour them by their groups",
    on: { click: () => showFoundGroups(model) },
  });
  model.finding.show((version) => {
    button.textContent = version === null ? "Find groups" : "Finding groups…";
    button.setAttribute("aria-busy", String(version !== null));
  });
  return button;
}

function linesToggle(model: Model): HTMLElement {
  const button = h(
    "button",
    {
      type: "button",
      testid: "links-toggle",
      "aria-keyshortcuts": "l",
      title: "Lines between all points that were said to be the same or different",
      on: { click: () => model.showLinks.set(!model.showLinks.value) },
    },
    "Lines",
    key("l"),
  );
  model.showLinks.show((on) => button.setAttribute("aria-pressed", String(on)));
  return button;
}

function modes(model: Model, plot: Plot): HTMLElement[] {
  const lasso = h(
    "button",
    {
      type: "button",
      testid: "lasso-mode",
      "aria-keyshortcuts": "g",
      title: "Draw around two groups of points; holding Shift does the same",
      on: { click: () => model.lassoMode.set(!model.lassoMode.value) },
    },
    "Lasso",
    key("g"),
  );
  model.lassoMode.show((on) => {
    lasso.setAttribute("aria-pressed", String(on));
    byId("stage").classList.toggle("lasso", on);
  });
  const fit = h(
    "button",
    {
      type: "button",
      testid: "fit",
      "aria-keyshortcuts": "f",
      title: "Bring all points into view",
      on: { click: plot.fit },
    },
    "Fit",
    key("f"),
  );
  return [lasso, fit];
}
