/** The selected point: its record, and its neighbours in the learned metric. */

import { addToGroup, answerNeighbour } from "../actions";
import { api } from "../api";
import { coalesced } from "../coalesce";
import type { DataRecord, Neighbour } from "../logic/types";
import type { Model } from "../model";
import { notifyProblem } from "../notices";
import { h, key, replace } from "./dom";
import { keepOrder, orderButton, orderList, orderSwitch } from "./order";
import { recordCard, recordLine, recordName } from "./record";
import { explain } from "./why";

export function pointPanel(model: Model): HTMLElement {
  const body = h("div", { class: "panel-body", testid: "point" });
  const record = h("div", { class: "point-record" });
  const heading = h(
    "div",
    { class: "neighbours-head" },
    h("h3", { text: "Neighbours in the learned metric" }),
    model.lesson.takes_triplets && orderSwitch(model),
  );
  const list = h("ol", { class: "rows neighbours", testid: "neighbours" });
  const orders = orderList(model);
  let listed = -1;

  const showRecord = async (row: number): Promise<void> => {
    const shown = await model.records.get(row);
    if (model.selected.value !== row) return;
    replace(record, selectedRecord(model, shown));
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
    if (row === null) {
      const hint = "Click a point, or step through the map with the arrow keys and press Enter.";
      return replace(body, h("p", { class: "hint", text: hint }));
    }
    replace(list);
    replace(body, record, heading, list, orders);
    showRecord(row).catch(notifyProblem);
    showNeighbours();
  });
  keepOrder(model, list);
  model.learned.listen(showNeighbours);
  model.panel.listen(showNeighbours);
  return body;
}

function selectedRecord(model: Model, record: DataRecord): HTMLElement {
  const group = (name: "a" | "b"): HTMLElement =>
    h(
      "button",
      {
        type: "button",
        class: "small quiet",
        testid: `add-${name}`,
        "aria-keyshortcuts": name,
        on: { click: () => addToGroup(model, name, [record.row]) },
      },
      `Group ${name.toUpperCase()}`,
      key(name),
    );
  const extra = h("div", { class: "row-actions" }, group("a"), group("b"));
  return recordCard(model, record, { extra });
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
      orderButton(model, row, near.row, name),
    ),
  );
}
