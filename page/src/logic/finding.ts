/** What is looked for: as it is sent, said in words, and what comes back. */

import { short } from "./words";

export interface SearchColumn {
  key: string;
  name: string;
  kind: "numbers" | "categories" | "text";
}

/** What a column is to hold: some kinds, an amount in a range, or words. */
export interface ColumnFilter {
  key: string;
  name: string;
  kinds?: { number: number; name: string }[];
  low?: number;
  high?: number;
  text?: string;
}

export interface GroupFilter {
  number: number;
  name: string;
}

export interface Filter {
  text: string;
  where: ColumnFilter[];
  groups: GroupFilter[];
  doubtful: boolean;
}

export const NO_FILTER: Filter = { text: "", where: [], groups: [], doubtful: false };

export interface Matches {
  /** 1 for each row that is looked for. */
  mask: Uint8Array;
  n: number;
  notes: string[];
}

export function isEmpty({ text, where, groups, doubtful }: Filter): boolean {
  return text.trim() === "" && where.length + groups.length === 0 && !doubtful;
}

/** As the server takes it. */
export function searchOf({ text, where, groups, doubtful }: Filter): object {
  return {
    text: text.slice(0, 500),
    where: where.map(({ key, kinds, low, high, text: words }) => ({
      key,
      ...(kinds === undefined ? {} : { kinds: kinds.map(({ number }) => number) }),
      ...(low === undefined ? {} : { low }),
      ...(high === undefined ? {} : { high }),
      ...(words === undefined ? {} : { text: words }),
    })),
    groups: groups.map(({ number }) => number),
    doubtful,
  };
}

/** What a column is to hold, in words. */
export function conditionInWords({ name, kinds, low, high, text }: ColumnFilter): string {
  if (kinds !== undefined) return `${name}: ${kinds.map((kind) => kind.name).join(" or ")}`;
  if (text !== undefined) return `${name} has “${text}”`;
  if (low === undefined) return `${name} up to ${short(high ?? 0)}`;
  return high === undefined
    ? `${name} from ${short(low)}`
    : `${name} ${short(low)} to ${short(high)}`;
}

export function filterInWords({ text, where, groups, doubtful }: Filter): string {
  const parts = where.map(conditionInWords);
  if (text.trim() !== "") parts.unshift(`“${text.trim()}”`);
  if (groups.length > 0) parts.push(`in ${groups.map(({ name }) => name).join(" or ")}`);
  if (doubtful) parts.push("doubtful");
  return parts.join(", ");
}

/** With a condition, in the place of another one on the same column. */
export function withCondition(filter: Filter, condition: ColumnFilter): Filter {
  const others = filter.where.filter(({ key }) => key !== condition.key);
  return { ...filter, where: [...others, condition] };
}

export function withoutCondition(filter: Filter, key: string): Filter {
  return { ...filter, where: filter.where.filter((one) => one.key !== key) };
}

/** Length of a JSON text, that text, and a bit for every row. */
export function decodeMatches(content: ArrayBuffer, n_rows: number): Matches {
  const length = new DataView(content).getUint32(0, true);
  const head = new TextDecoder().decode(new Uint8Array(content, 4, length));
  const { notes } = JSON.parse(head) as { notes: string[] };
  const bits = new Uint8Array(content, 4 + length);
  const mask = new Uint8Array(n_rows);
  let n = 0;
  for (let row = 0; row < n_rows; row++) {
    mask[row] = (bits[row >> 3] >> (row & 7)) & 1;
    n += mask[row];
  }
  return { mask, n, notes };
}

export function rowsOf({ mask, n }: Matches): number[] {
  const rows = new Array<number>(n);
  let at = 0;
  for (let row = 0; row < mask.length; row++) if (mask[row]) rows[at++] = row;
  return rows;
}
