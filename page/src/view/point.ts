/** The selected point: its record, and its neighbours in the learned metric. */

import { answerNeighbour } from "../actions";
import { api } from "../api";
import { coalesced } from "../coalesce";
import type { DataRecord, Neighbour } from "../logic/types";
import type { Model } from "../model";
import { notifyProblem } from "../notices";
import { h, replace } from "./dom";
import { recordCard, recordLine, recordName } from "./record";
import { explain } from "./why";

export function pointSection(model: Model): HTMLElement {
  const body = h("section", { class: "section", testid: "point" });
  const record = h("div", { class: "point-record" });
  const close = h("button", {
    type: "button",
    class: "small quiet",
    text: "Close",
    testid: "point-close",
    on: { click: () => model.selected.set(null) },
  });
  const title = h("h3", { text: "Nearest to it" });
  const heading = h("div", { class: "neighbours-head" }, title, close);
  const list = h("ol", { class: "rows neighbours", testid: "neighbours" });
  let listed = -1;

  const showRecord = async (row: number): Promise<void> => {
    const shown = await model.records.get(row);
    if (model.selected.value !== row) return;
    replace(record, recordCard(model, shown));
  };

  const showNeighbours = coalesced(async () => {
    const row = model.selected.value;
    if (row === null || model.panel.value !== "point") return;
    try {
      const { neighbors } = await api.neighbours(row);
      const records = await Promise.all(neighbors.map((near) => model.records.get(near.row)));
      if (model.selected.value !== row) return;
      const focused = list.contains(document.activeElement) && listed === row;
      const at = [...list.querySelectorAll("button")].indexOf(document.activeElement as never);
      replace(list, ...neighbors.map((near, k) => neighbourRow(model, row, near, records[k])));
      listed = row;
      if (focused) list.querySelectorAll("button")[at]?.focus();
    } catch (problem) {
      notifyProblem(problem);
    }
  });

  model.selected.show((row) => {
    if (row === null) return replace(body);
    replace(list);
    replace(body, record, heading, list);
    showRecord(row).catch(notifyProblem);
    showNeighbours();
  });
  model.learned.listen(showNeighbours);
  model.panel.listen(showNeighbours);
  return body;
}

function neighbourRow(model: Model, row: number, near: Neighbour, record: DataRecord): HTMLElement {
  const name = recordName(record);
  const say = (label: string, same: boolean): HTMLElement =>
    h("button", {
      type: "button",
      class: "small quiet pairwise",
      text: label,
      "aria-pressed": String(near.same === same),
      "aria-label": `${label}: ${name} and the selected point`,
      testid: `neighbour-${label.toLowerCase()}`,
      on: {
        click: (event) =>
          void answerNeighbour(model, { left: row, right: near.row }, same, event.timeStamp),
      },
    });
  return h(
    "li",
    {
      testid: "neighbour",
      on: {
        mouseenter: () => model.hovered.set(near.row),
        mouseleave: () => model.hovered.set(null),
      },
    },
    h(
      "button",
      {
        type: "button",
        class: "pick near",
        on: {
          click: () => model.selected.set(near.row),
          focus: () => model.hovered.set(near.row),
          blur: () => model.hovered.set(null),
        },
      },
      recordLine(model, near.row),
      h("span", { class: "unseen", text: ", distance " }),
      h("span", { class: "distance", text: near.distance.toPrecision(3) }),
    ),
    h(
      "div",
      { class: "row-actions" },
      say("Same", true),
      say("Different", false),
      h("button", {
        type: "button",
        class: "small quiet pairwise",
        text: "Why?",
        "aria-label": `Why ${name} is as near as it is`,
        testid: "neighbour-why",
        on: { click: () => explain(model, { left: row, right: near.row }) },
      }),
    ),
  );
}
