/** From what arrives over the wire to what the page works with. */

import type { Group, Groups, Layout, Person, Report, Review, State } from "./types";

export type LiveMessage =
  | { type: "state"; state: State }
  | { type: "report"; report: Report }
  | { type: "review"; review: Review }
  | { type: "people"; people: Person[] }
  | { type: "problem"; message: string }
  | { type: "layout"; layout: Layout };

const HEADER_BYTES = 8;
const BYTES_PER_POINT = 8;

const LITTLE_ENDIAN_HOST = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** A version number, of what kind it is and how far it has come, and then pairs of float32, little endian. */
export function decodeLayout(buffer: ArrayBuffer): Layout {
  const body = buffer.byteLength - HEADER_BYTES;
  if (body < 0 || body % BYTES_PER_POINT !== 0) {
    throw new Error(`A layout of ${buffer.byteLength} bytes is not complete.`);
  }
  const head = new DataView(buffer);
  return {
    version: head.getUint32(0, true),
    ofNeighbors: head.getUint8(4) === 1,
    percent: head.getUint8(5),
    coordinates: decodeFloats(buffer, HEADER_BYTES),
  };
}

/** float32, little endian; a view of the buffer wherever the host has the same order of bytes. */
export function decodeFloats(buffer: ArrayBuffer, offset = 0): Float32Array {
  const n = (buffer.byteLength - offset) / 4;
  if (!Number.isInteger(n)) {
    throw new Error(`${buffer.byteLength - offset} bytes are no whole number of values.`);
  }
  if (LITTLE_ENDIAN_HOST) return new Float32Array(buffer, offset, n);
  const view = new DataView(buffer, offset);
  return Float32Array.from({ length: n }, (_, i) => view.getFloat32(4 * i, true));
}

/** What a live message says, or null if it is of a kind that this page does not know. */
export function decodeLive(data: unknown): LiveMessage | null {
  if (data instanceof ArrayBuffer) return { type: "layout", layout: decodeLayout(data) };
  if (typeof data !== "string") return null;
  const message: unknown = JSON.parse(data);
  if (typeof message !== "object" || message === null || !("type" in message)) return null;
  const { type, ...rest } = message as { type: string };
  switch (type) {
    case "state":
      return { type, state: rest as State };
    case "report":
      return { type, report: rest as Report };
    case "review":
      return { type, review: rest as Review };
    case "people":
      return { type, people: (rest as { people: Person[] }).people };
    case "problem":
      return { type, message: String((rest as { message?: unknown }).message ?? "") };
    default:
      return null;
  }
}

/** The name that people gave to a group, or what tells it apart. */
export function titleOf({ name, named, about }: Group): string {
  return named || about === "" ? name : about;
}

/** Whether nothing is known of a group but its number. */
export function isPlain({ number, ...group }: Group): boolean {
  return titleOf({ number, ...group }) === `group ${number + 1}`;
}

/** Its title where there is little room: as many of its words as that takes. */
export function briefTitle(group: Group): string {
  if (isPlain(group)) return "";
  const [first, ...others] = group.named ? [group.name] : titleOf(group).split(", ");
  return others.reduce(
    (told, word) => (told.length + word.length > BRIEF ? told : `${told}, ${word}`),
    first,
  );
}

const BRIEF = 24;

/** The key of the colouring by groups. */
export const GROUPS = "groups";
/** The same, where duplicates are looked for. */
export const DUPLICATES = "duplicates";

/** Length of a JSON text, that text, and a number for every row: its group's, a half more where that is unsure. */
export function decodeGroups(content: ArrayBuffer): Groups {
  const length = new DataView(content).getUint32(0, true);
  const head = new TextDecoder().decode(new Uint8Array(content, 4, length));
  const { version, groups } = JSON.parse(head) as { version: number; groups: Group[] };
  const told = decodeFloats(content, 4 + length);
  const values = told.map(Math.floor);
  const pale = Uint8Array.from(told, (value, row) => (value > values[row] ? 1 : 0));
  const categories: string[] = [];
  for (const group of groups) {
    const title = titleOf(group);
    categories[group.number] = isPlain(group) ? title : `${group.number + 1} ${title}`;
  }
  const names = Array.from(categories, (name) => name ?? "");
  const colouring = { key: GROUPS, name: "Groups", kind: "categories" as const, range: null };
  return { version, groups, colouring: { ...colouring, categories: names, values, pale } };
}
