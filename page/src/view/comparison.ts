/** Two records side by side, with what differs marked. */

import type { DataRecord, Pair } from "../logic/types";
import type { Model } from "../model";
import { h, replace } from "./dom";
import { fieldValue, recordName, thumbnail } from "./record";

/** Comparisons of a list: filled when the records are here, and kept as long as their pairs are listed. */
export class Comparisons {
  private readonly shown = new Map<string, HTMLElement>();

  constructor(private readonly model: Model) {}

  of({ left, right }: Pair): HTMLElement {
    const before = this.shown.get(`${left} ${right}`);
    if (before !== undefined) return before;
    const box = h("div", { class: "compared" });
    this.shown.set(`${left} ${right}`, box);
    void this.model.records.pair(left, right).then(
      ([a, b]) => replace(box, comparison(a, b, "Two records that may be the same")),
      () => replace(box, h("p", { class: "hint", text: "These records could not be read." })),
    );
    return box;
  }

  keepOnly(pairs: Pair[]): void {
    const listed = new Set(pairs.map(({ left, right }) => `${left} ${right}`));
    for (const name of this.shown.keys()) if (!listed.has(name)) this.shown.delete(name);
  }
}

/** A table: one column for each record, one line for each field that either has. */
export function comparison(left: DataRecord, right: DataRecord, caption: string): HTMLElement {
  const names = new Map<string, [number, number]>();
  left.fields.forEach(({ name }, i) => {
    names.set(name, [i, -1]);
  });
  right.fields.forEach(({ name }, i) => {
    names.set(name, [names.get(name)?.[0] ?? -1, i]);
  });
  const both = [...names].sort(([, a], [, b]) => rank(a) - rank(b));

  const head = (record: DataRecord, mark: string): HTMLElement =>
    h(
      "th",
      { scope: "col" },
      h(
        "div",
        { class: "record-head" },
        thumbnail(record),
        h(
          "span",
          { class: "record-name", dir: "auto" },
          h("span", { class: "mark", text: mark, "aria-hidden": "true" }),
          h("span", { class: "record-id", text: recordName(record), title: recordName(record) }),
        ),
      ),
    );
  const cell = (record: DataRecord, i: number): HTMLElement =>
    h("td", {}, i < 0 ? null : fieldValue(record.fields[i]));
  const differs = (i: number, j: number): boolean =>
    left.fields[i]?.parts !== undefined || right.fields[j]?.parts !== undefined;

  const named = both.length > 0;
  return h(
    "table",
    { class: named ? "" : "pictures" },
    h("caption", { class: "unseen", text: caption }),
    h("thead", {}, h("tr", {}, named && h("td", {}), head(left, "1"), head(right, "2"))),
    h(
      "tbody",
      {},
      ...both.map(([name, [i, j]]) =>
        h(
          "tr",
          {},
          h(
            "th",
            { scope: "row", title: name },
            h("span", { class: "field", text: name, dir: "auto" }),
            differs(i, j) && h("span", { class: "unequal", "aria-hidden": "true", text: "≠" }),
            differs(i, j) && h("span", { class: "unseen", text: " differs" }),
          ),
          cell(left, i),
          cell(right, j),
        ),
      ),
    ),
  );
}

/** Fields of both records first, in their order. */
function rank([i, j]: [number, number]): number {
  return i >= 0 && j >= 0 ? i : 1000 + Math.max(i, j);
}
