/** Which fields of records are shown, and how. */

import type { DataRecord, Field } from "./types";

/** Fields that are shown before somebody asks for all. */
export const SHOWN_FIELDS = 16;

/** Characters of a value beyond which two of them have no room side by side in a narrow card. */
const SHORT = 60;

/** Characters and lines of a value that is shown in part at first. */
const MUCH = 420;
const MANY_LINES = 7;

/** Marks tell nothing in a text of at least so many characters, of which this share differs. */
const FEW = 200;
const MOSTLY = 0.5;

/** Characters of a record on one line. */
const GIST = 160;

export interface FieldPair {
  name: string;
  left?: Field;
  right?: Field;
}

/** The fields of two records by their names, in the order that all records have. */
export function pairedFields(left: DataRecord, right: DataRecord): FieldPair[] {
  const pairs = new Map<string, FieldPair>();
  for (const field of left.fields) pairs.set(field.name, { name: field.name, left: field });
  for (const field of right.fields) {
    pairs.set(field.name, { name: field.name, ...pairs.get(field.name), right: field });
  }
  return [...pairs.values()];
}

/** Whether it is marked that they differ. Amounts nearly always do: where they stand says more. */
export function differs({ left, right }: FieldPair): boolean {
  return [left, right].some((field) => field?.parts !== undefined && field.rank === undefined);
}

/** Whether it takes the whole width of a narrow card. */
export function isLong(...fields: (Field | undefined)[]): boolean {
  return fields.some((field) => field !== undefined && field.value.length > SHORT);
}

/** Whether only its beginning is shown at first. */
export function isMuch(field: Field | undefined): boolean {
  if (field === undefined) return false;
  return field.cut || field.value.length > MUCH || field.value.split("\n").length > MANY_LINES;
}

/** The value in parts, each with whether it is to be marked. */
export function markedParts({ value, parts, rank }: Field): [string, boolean][] {
  const whole: [string, boolean][] = [[value.trimStart(), false]];
  if (parts === undefined || rank !== undefined) return whole;
  const marked = parts.reduce((sum, [text, unlike]) => sum + (unlike ? text.length : 0), 0);
  return value.length >= FEW && marked > MOSTLY * value.length ? whole : parts;
}

/** Letters that are read from right to left. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** Texts that keep their own direction beside one another: a date is not torn apart by Hebrew words before it. */
function apart(texts: string[]): string[] {
  return texts.some((text) => RIGHT_TO_LEFT.test(text))
    ? texts.map((text) => `\u2068${text}\u2069`)
    : texts;
}

/** What the texts of a record say but for codes that name it, in a line or a few; "" without any. */
export function textsOf({ fields, id }: DataRecord, most = GIST): string {
  const told = fields.filter(({ value, rank }) => rank === undefined && value !== String(id));
  const named = told.filter(({ name }) => !/(^|_)id$/i.test(name));
  return cutOff(
    (named.length > 0 ? named : told).map(({ value }) => value),
    most,
  );
}

/** What a record is, in a line: its texts, or its numbers if it has no others. */
export function gistOf(record: DataRecord): string {
  const numbers = record.fields.filter(({ rank }) => rank !== undefined);
  const named = numbers.map(({ name, value }) => `${name} ${value}`);
  return textsOf(record) || cutOff(named, GIST);
}

function cutOff(values: string[], most: number): string {
  const told = values.map((value) => value.replace(/\s+/g, " ").trim());
  const all = apart(told.filter((value) => value !== "")).join(" · ");
  return all.length > most ? `${all.slice(0, most).trimEnd()}…` : all;
}

/** Names break where people see their parts: after "_" and "/". */
export function partsOfName(name: string): string[] {
  return name.split(/(?<=[_/.-])/);
}

/** Where a number stands among all, in words. */
export function rankInWords(rank: number): string {
  return `above ${Math.round(100 * rank)}\u00a0% of all records`;
}
