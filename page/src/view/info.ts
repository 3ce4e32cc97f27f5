/** Behind one sign: what the data are, which columns are learned from and by what, and remarks on all that. */

import { giveKeysBack } from "../keys";
import type { MapChoice, Model } from "../model";
import { showAll } from "../signal";
import { remember } from "../storage";
import { openColumns } from "./columns";
import { byId, closeButton, h, replace } from "./dom";
import { IN_MEMORY } from "./help";

export function prepareInfo(model: Model): void {
  const dialog = byId<HTMLDialogElement>("info-dialog");
  const notes = h("ul", { class: "notes", testid: "notes" });
  const learner = h("p", { testid: "learner" });
  const columns = h(
    "button",
    {
      type: "button",
      testid: "columns",
      hidden: !model.lesson.has_columns,
      on: {
        click: () => {
          dialog.close();
          void openColumns(model);
        },
      },
    },
    "Choose columns",
  );
  const close = closeButton("Close", "info-close", () => dialog.close());
  const title = h("h2", { id: "info-title", text: "About these data" });
  const head = h("div", { class: "card-head" }, title, close);
  replace(
    dialog,
    head,
    notes,
    learner,
    h("div", { class: "row-actions" }, columns, mapSelect(model)),
  );
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  byId("info-button").addEventListener("click", () => openInfo(model));
  showAll([model.report, model.review], () => {
    const { notes: own, journal } = model.lesson;
    const told = [model.report.value, model.review.value].flatMap((part) => part?.notes ?? []);
    const all = new Set([...own, ...told, ...(journal === null ? [IN_MEMORY] : [])]);
    replace(notes, ...[...all].map((text) => h("li", { text, dir: "auto", testid: "note" })));
    learner.textContent = model.report.value ? `Learned by ${model.report.value.learner}.` : "";
  });
}

const MAPS: Record<MapChoice, string> = {
  neighbors: "Neighbours",
  axes: "Principal axes",
};

/** Which map is shown: points near their neighbours, or along the two directions that differ most. */
function mapSelect(model: Model): HTMLElement {
  const options = Object.entries(MAPS).map(([value, text]) => h("option", { value, text }));
  const select = h("select", { testid: "map-choice" }, ...options);
  select.addEventListener("change", () => {
    remember("map", select.value);
    model.mapChoice.set(select.value as MapChoice);
  });
  giveKeysBack(select);
  model.mapChoice.show((choice) => {
    select.value = choice;
  });
  return h("label", { class: "check" }, "Map by", select);
}

export function openInfo(_model: Model): void {
  const dialog = byId<HTMLDialogElement>("info-dialog");
  if (!dialog.open) dialog.showModal();
}
