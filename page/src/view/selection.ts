/** What is selected on the map: looked at as a sheet, and said to be one group, or none of another. */

import { answerMany } from "../actions";
import { api } from "../api";
import { groupOf } from "../groups";
import { titleOf } from "../logic/messages";
import type { Group } from "../logic/types";
import { counted } from "../logic/words";
import type { Model } from "../model";
import { showAll } from "../signal";
import { byId, h, key, replace } from "./dom";
import { openTable } from "./table";

/** Of the group that a part is split from: those in its middle. */
const OTHERS = 3;

export function showSelection(model: Model): void {
  const bar = byId("selection");
  let sure = "";

  const say = async (
    what: string,
    said: string,
    send: (rows: number[], before: "nothing" | null) => ReturnType<typeof api.split>,
  ): Promise<void> => {
    const rows = model.selection.value;
    const of = `${what} ${rows}`;
    const outcome = await answerMany(model, (before) => send(rows, before), said, sure === of);
    sure = outcome === "doubted" ? of : "";
    if (outcome === "said") clearSelection(model);
  };

  const button = (text: string, testid: string, press: () => void): HTMLElement =>
    h("button", { type: "button", class: "small", text, testid, on: { click: press } });

  showAll([model.selection, model.lassoMode, model.groups], () => {
    const rows = model.selection.value;
    bar.hidden = rows.length === 0 && !model.lassoMode.value;
    if (bar.hidden) return;
    const part = partOf(model, rows);
    const clear = h(
      "button",
      {
        type: "button",
        class: "small quiet",
        testid: "selection-clear",
        on: { click: () => clearSelection(model) },
      },
      rows.length === 0 ? "Done" : "Clear",
      key("Esc"),
    );
    if (rows.length === 0) return replace(bar, h("p", { text: "Draw around some points." }), clear);
    replace(
      bar,
      h("strong", { text: counted(rows.length, "record"), testid: "selected-count" }),
      button("Look", "selection-look", () => openTable(model, rows, "Selected")),
      rows.length > 1 &&
        button("These are one group", "selection-one", () =>
          say("one", "They are one group.", (some, before) =>
            api.answerGroups(some, [], true, before),
          ),
        ),
      part !== null &&
        button(`Not ${titleOf(part.group)}`, "selection-split", () =>
          say("split", `They are not of ${titleOf(part.group)}.`, (some, before) =>
            api.split(some, part.others, before),
          ),
        ),
      clear,
    );
  });
}

/** The group that most of some rows are likely of, and rows that stand for the rest of it. */
function partOf(model: Model, rows: number[]): { group: Group; others: number[] } | null {
  const values = model.groups.value?.colouring.values;
  if (values === undefined) return null;
  const counts = new Map<number, number>();
  for (const row of rows) counts.set(values[row], (counts.get(values[row]) ?? 0) + 1);
  const [number] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? [Number.NaN];
  const group = groupOf(model, { number });
  const chosen = new Set(rows);
  const others = group?.examples.filter((row) => !chosen.has(row)).slice(0, OTHERS) ?? [];
  return group === undefined || others.length === 0 ? null : { group, others };
}

export function clearSelection(model: Model): void {
  model.selection.set([]);
  model.lassoMode.set(false);
}
