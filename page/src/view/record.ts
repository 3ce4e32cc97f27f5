/** Records as people read them, the same wherever they are judged: in a card, on a line, field by field. */

import {
  gistOf,
  isLong,
  isMuch,
  markedParts,
  partsOfName,
  rankInWords,
  SHOWN_FIELDS,
} from "../logic/fields";
import type { DataRecord, Field } from "../logic/types";
import { counted } from "../logic/words";
import type { Model } from "../model";
import { h, replace } from "./dom";
import { CARD_PX, largePicture, thumbnail } from "./picture";

const SAID_FIELDS = 3;
const SAID_CHARACTERS = 80;

/** What it is called; a bare number beside those of groups would say nothing. */
export function recordName({ id, row }: DataRecord): string {
  return String(id) === String(row) ? `row ${row}` : String(id);
}

/** A short sentence for screen readers. */
export function recordSentence(record: DataRecord): string {
  const fields = record.fields
    .slice(0, SAID_FIELDS)
    .map(({ name, value }) => `${name} ${value.slice(0, SAID_CHARACTERS)}`);
  return [`Record ${record.id}`, ...fields].join(", ");
}

/** A record on one line, or two: its picture, its name and what it says. Filled when it is here. */
export function recordLine(model: Model, row: number): HTMLElement {
  const line = h("span", { class: "record-line", "data-row": row });
  const fill = (record: DataRecord): void => replace(line, ...lineOf(record));
  const here = model.records.peek(row);
  if (here !== undefined) fill(here);
  else {
    replace(line, h("span", { class: "near-name", text: `row ${row}` }));
    void model.records.get(row).then(fill, () => undefined);
  }
  return line;
}

function lineOf(record: DataRecord): (HTMLElement | null)[] {
  const gist = gistOf(record);
  return [
    thumbnail(record),
    h(
      "span",
      { class: "record-words" },
      h("span", { class: "near-name", text: recordName(record), dir: "auto" }),
      gist === "" ? null : h("span", { class: "gist", text: gist, dir: "auto" }),
    ),
  ];
}

/** A record as it is read: its picture, its name, all its fields. */
export function recordCard(
  model: Model,
  record: DataRecord,
  { width = CARD_PX, extra = null }: { width?: number; extra?: HTMLElement | null } = {},
): HTMLElement {
  return h(
    "article",
    { class: "record-card", "aria-label": `Record ${recordName(record)}` },
    largePicture(record, width),
    h("h3", { text: recordName(record), dir: "auto", testid: "selected-id" }),
    extra,
    fieldList(model, record),
  );
}

/** A value; beside another record's, with what differs marked. */
export function fieldValue(field: Field, ranked = true): HTMLElement {
  if (field.value === "") return h("span", { class: "value empty", text: "empty" });
  const shown = markedParts(field).map(([text, differs]) => (differs ? h("mark", { text }) : text));
  const value = h("span", { class: "value", dir: "auto" }, ...shown, field.cut && " …");
  return field.rank === undefined || !ranked
    ? value
    : h("span", { class: "amount" }, value, rankBar(field.rank));
}

/** Where a number stands among those of all records. */
function rankBar(rank: number): HTMLElement {
  const words = rankInWords(rank);
  const bar = h("span", { class: "rank", role: "img", "aria-label": words, title: words });
  const at = h("span", {});
  at.style.width = `${100 * rank}%`;
  bar.append(at);
  return bar;
}

/** A record, or a group, on a scale. */
export interface Mark {
  rank: number | undefined;
  name: string;
  kind: string;
  colour?: string;
}

/** Where some numbers stand among those of all records, on one line. */
export function sharedScale(marks: Mark[]): HTMLElement {
  const told = marks.flatMap(({ rank, ...mark }) =>
    rank === undefined ? [] : [{ rank, ...mark }],
  );
  const words = told.map(({ rank, name }) => `${name}: ${rankInWords(rank)}`).join(", ");
  const scale = h("span", { class: "scale", role: "img", "aria-label": words, title: words });
  for (const { rank, kind, colour } of told) {
    const mark = h("span", { class: `scale-mark ${kind}` });
    mark.style.insetInlineStart = `${100 * rank}%`;
    if (colour !== undefined) mark.style.backgroundColor = colour;
    scale.append(mark);
  }
  return scale;
}

/** The name of a field; a long one has places where it may break. */
export function fieldName(name: string): HTMLElement {
  const parts = partsOfName(name).flatMap((part) => [h("wbr"), part]);
  return h("span", { class: "field", dir: "auto", title: name }, ...parts.slice(1));
}

/** Shows the rest of what is shown in part. */
export function showAllButton(testid: string, label: string, press: () => void): HTMLElement {
  const button = h("button", { type: "button", class: "more", testid, text: label });
  button.addEventListener("click", press);
  return button;
}

/** Name and value of each field; of many, the first ones. */
export function fieldList(
  model: Model | null,
  record: DataRecord,
  most = SHOWN_FIELDS,
): HTMLElement {
  const list = h("dl", { class: "fields" });
  const box = h("div", { class: "field-box" }, list);
  const rows = record.fields.map((field) => fieldRow(model, record, field));
  const draw = (n: number): void => replace(list, ...rows.slice(0, n));
  draw(most);
  if (rows.length > most && model !== null) {
    const more = showAllButton("all-fields", `Show all ${counted(rows.length, "field")}`, () => {
      draw(rows.length);
      more.remove();
    });
    box.append(more);
  }
  return box;
}

function fieldRow(model: Model | null, record: DataRecord, field: Field): HTMLElement {
  const value = h("dd", {}, fieldValue(field));
  const much = model !== null && isMuch(field);
  const kind = `${isLong(field) ? "long " : ""}${much ? "much" : ""}`.trim();
  const row = h("div", { class: kind }, h("dt", {}, fieldName(field.name)), value);
  if (much) {
    const more = showAllButton("show-all", "Show all", () => {
      void wholeField(model, field, record.row).then((whole) => {
        replace(value, fieldValue(whole));
        row.classList.remove("much");
      });
    });
    value.append(more);
  }
  return row;
}

/** All of a field; what is here already where the server does not answer. */
export async function wholeField(
  model: Model,
  field: Field,
  row: number,
  beside?: number,
): Promise<Field> {
  if (!field.cut) return field;
  const whole = await model.records.whole(row, beside).catch(() => null);
  return whole?.fields.find(({ name }) => name === field.name) ?? field;
}
