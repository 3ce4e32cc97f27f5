/** Two records side by side, with what differs marked. */

import {
  differs,
  type FieldPair,
  isLong,
  isMuch,
  pairedFields,
  SHOWN_FIELDS,
} from "../logic/fields";
import type { DataRecord, Field, Pair } from "../logic/types";
import { counted } from "../logic/words";
import type { Model } from "../model";
import { h, replace } from "./dom";
import { CARD_PX, largePicture } from "./picture";
import {
  fieldName,
  fieldValue,
  recordName,
  sharedScale,
  showAllButton,
  wholeField,
} from "./record";

const UNREADABLE = "These records could not be read.";

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
      ([a, b]) =>
        replace(box, comparison(this.model, a, b, "Two records that may be the same", CARD_PX / 2)),
      () => replace(box, h("p", { class: "hint", text: UNREADABLE })),
    );
    return box;
  }

  keepOnly(pairs: Pair[]): void {
    const listed = new Set(pairs.map(({ left, right }) => `${left} ${right}`));
    for (const name of this.shown.keys()) if (!listed.has(name)) this.shown.delete(name);
  }
}

/**
 * A table: one column for each record, one line for each field, in the order that all records have.
 *
 * In a narrow place the names of fields are above their values, and long values one below the other.
 */
export function comparison(
  model: Model,
  left: DataRecord,
  right: DataRecord,
  caption: string,
  width = CARD_PX,
): HTMLElement {
  const fields = pairedFields(left, right);
  const rows = fields.map((pair) => fieldRow(model, pair, left.row, right.row));
  const body = h("tbody", { role: "rowgroup" });
  const head = (record: DataRecord, mark: string): HTMLElement =>
    h(
      "th",
      { scope: "col", role: "columnheader" },
      h(
        "div",
        { class: "record-head" },
        largePicture(record, width, [left, right]),
        h(
          "span",
          { class: "record-name", dir: "auto" },
          h("span", { class: "mark", text: mark, "aria-hidden": "true" }),
          h("span", { class: "record-id", text: recordName(record), title: recordName(record) }),
        ),
      ),
    );
  const draw = (n: number): void => replace(body, ...rows.slice(0, n));
  draw(SHOWN_FIELDS);
  const named = fields.length > 0;
  const table = h(
    "table",
    { class: kindOf(fields), role: "table" },
    h("caption", { class: "unseen", text: caption }),
    h(
      "thead",
      { role: "rowgroup" },
      h(
        "tr",
        { role: "row" },
        named && h("td", { role: "cell" }),
        head(left, "1"),
        head(right, "2"),
      ),
    ),
    body,
  );
  if (rows.length <= SHOWN_FIELDS) return table;
  const unlike = fields.slice(SHOWN_FIELDS).filter(differs).length;
  const said = unlike > 0 ? `, ${whole(unlike)} of the others` : "";
  const more = showAllButton(
    "all-fields",
    `Show all ${counted(rows.length, "field")}${said}`,
    () => {
      draw(rows.length);
      more.remove();
    },
  );
  return h("div", { class: "many-fields" }, table, more);
}

/** Amounts alone stand in columns; of pictures there is nothing else. */
function kindOf(fields: FieldPair[]): string {
  if (fields.length === 0) return "pictures";
  return fields.every(({ left, right }) => (left ?? right)?.rank !== undefined) ? "amounts" : "";
}

function whole(unlike: number): string {
  return unlike === 1 ? "1 differs" : `${unlike} differ`;
}

function fieldRow(model: Model, pair: FieldPair, left: number, right: number): HTMLElement {
  const { name } = pair;
  const unequal = differs(pair);
  const cell = (field: Field | undefined): HTMLElement =>
    h("td", { role: "cell" }, field && fieldValue(field, false));
  const cells = [cell(pair.left), cell(pair.right)];
  const ranks = [pair.left?.rank, pair.right?.rank];
  const heading = h(
    "th",
    { scope: "row", role: "rowheader", title: name },
    fieldName(name),
    unequal && h("span", { class: "unequal", "aria-hidden": "true", text: "≠" }),
    unequal && h("span", { class: "unseen", text: " differs" }),
  );
  const much = isMuch(pair.left) || isMuch(pair.right);
  const kind = `${isLong(pair.left, pair.right) ? "long " : ""}${much ? "much" : ""}`.trim();
  const scale = ranks.some((rank) => rank !== undefined)
    ? h(
        "td",
        { role: "cell", class: "scale-cell" },
        sharedScale(ranks.map((rank, k) => ({ rank, name: String(k + 1), kind: `mark-${k + 1}` }))),
      )
    : null;
  const row = h("tr", { class: kind, role: "row" }, heading, ...cells, scale);
  if (much) {
    const more = showAllButton("show-all", "Show all", () => {
      const wanted = [pair.left, pair.right].map((field, k) =>
        field === undefined
          ? undefined
          : wholeField(model, field, k === 0 ? left : right, k === 0 ? right : left),
      );
      void Promise.all(wanted).then((found) => {
        found.forEach((field, k) => {
          if (field !== undefined) replace(cells[k], fieldValue(field));
        });
        row.classList.remove("much");
        more.remove();
        const marked = found.find((field) => field?.marked !== undefined)?.marked;
        if (marked !== undefined) heading.append(onlySoMany(marked));
      });
    });
    heading.append(more);
  }
  return row;
}

function onlySoMany(marked: number): HTMLElement {
  const text = `Differences are marked in the first ${counted(marked, "character")}.`;
  return h("span", { class: "hint", text });
}
