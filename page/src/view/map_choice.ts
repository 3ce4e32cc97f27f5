/** Which map is shown: points near their neighbours, or along the principal axes; and how far it has come. */

import { giveKeysBack } from "../keys";
import { type MapChoice, type Model, shownLayout } from "../model";
import { showAll } from "../signal";
import { remember } from "../storage";
import { byId, h } from "./dom";

const NAMES: Record<MapChoice, string> = {
  neighbors: "Neighbours",
  axes: "Principal axes",
};

export function mapSelect(model: Model): HTMLElement {
  const select = h(
    "select",
    {
      id: "map-choice",
      testid: "map-choice",
      "aria-label": "Map",
      title:
        "Neighbours: what is alike is near. Principal axes: the two directions that differ most.",
    },
    ...Object.entries(NAMES).map(([value, text]) => h("option", { value, text })),
  );
  select.addEventListener("change", () => {
    const choice = select.value as MapChoice;
    remember("map", choice);
    model.mapChoice.set(choice);
  });
  giveKeysBack(select);
  model.mapChoice.show((choice) => {
    select.value = choice;
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
