/** In a corner of the map: what points are coloured by, all points, and how far the map has come. */

import { giveKeysBack } from "../keys";
import { GROUPS } from "../logic/messages";
import { type Model, shownLayout } from "../model";
import type { Plot } from "../scatter/plot";
import { showAll } from "../signal";
import { byId, h, key, replace } from "./dom";

export function showTools(model: Model, plot: Plot | null): void {
  const lasso = byId("lasso-button");
  lasso.closest("li")?.toggleAttribute("hidden", plot === null);
  if (plot === null) return;
  lasso.addEventListener("click", () => model.lassoMode.set(!model.lassoMode.value));
  model.lassoMode.show((on) => {
    lasso.setAttribute("aria-pressed", String(on));
    byId("stage").classList.toggle("lasso", on);
  });
  const fit = h(
    "button",
    {
      type: "button",
      class: "small",
      testid: "fit",
      "aria-keyshortcuts": "f",
      title: "Bring all points into view",
      hidden: true,
      on: { click: plot.fit },
    },
    "Fit",
    key("f"),
  );
  plot.onDrawn(() => {
    fit.hidden = plot.isFitted();
  });
  replace(byId("toolbar"), colourSelect(model), fit);
}

function colourSelect(model: Model): HTMLElement {
  const option = (value: string, text: string): HTMLElement => h("option", { value, text });
  const columns = model.lesson.colourings.map(({ key: value, name }) => option(value, name));
  const select = h(
    "select",
    { id: "colour-by", testid: "colour-by", "aria-label": "Colour by" },
    option(GROUPS, "Groups"),
    ...columns,
    option("", "One colour"),
  );
  select.addEventListener("change", () => model.colouringKey.set(select.value));
  giveKeysBack(select);
  model.colouringKey.show((value) => {
    select.value = value;
  });
  return select;
}

/** From so many per cent on a map goes on from the one before, which takes a moment only. */
const BEGUN = 70;

/** Says that the map is on its way, in a corner of it. */
export function showMapProgress(model: Model): void {
  const said = h("p", { class: "map-progress", testid: "map-progress" });
  byId("frame").append(said);
  showAll([model.mapChoice, model.neighbors, model.learned], () => {
    const { mapChoice, neighbors } = model;
    const percent = neighbors.value?.percent ?? 0;
    const there = mapChoice.value === "axes" || percent === 100 || shownLayout(model) === null;
    said.hidden = there || percent > BEGUN;
    said.textContent = `Finding neighbours… ${percent > 0 ? `${percent} %` : ""}`;
  });
}
