/** Groups that were found: which are chosen, and what part of one is selected. */

import type { Colouring, Grouping } from "./types";

/** The key of the colouring that shows them. */
export const GROUPS = "groups";

/** Two at most: whoever chooses a third lets go of the first. */
export function withChosen(chosen: number[], group: number): number[] {
  if (chosen.includes(group)) return chosen.filter((one) => one !== group);
  return [...chosen, group].slice(-2);
}

export interface Part {
  group: number;
  /** Selected rows in it, and selected rows in others. */
  inside: number;
  outside: number;
}

/** The group that most of some rows are in, if they are a part of it and not all. */
export function partOfGroup(values: Float32Array, rows: number[]): Part | null {
  const counts = new Map<number, number>();
  for (const row of rows) {
    const group = values[row];
    if (!Number.isNaN(group)) counts.set(group, (counts.get(group) ?? 0) + 1);
  }
  let best: Part | null = null;
  for (const [group, inside] of counts) {
    const better = best === null || inside > best.inside;
    const first = best !== null && inside === best.inside && group < best.group;
    if (better || first) best = { group, inside, outside: rows.length - inside };
  }
  if (best === null) return null;
  let size = 0;
  for (const value of values) if (value === best.group) size++;
  return size > best.inside ? best : null;
}

/** What points are coloured by before groups are found. */
export function noGroups(name: string, n: number): Colouring {
  const values = new Float32Array(n).fill(Number.NaN);
  return { key: GROUPS, name, kind: "categories", categories: [], range: null, number: 0, values };
}

/** The colouring with the names that groups have now. */
export function renamed(colouring: Colouring, grouping: Grouping): Colouring {
  return { ...colouring, categories: grouping.groups.map(({ name }) => name) };
}

/** What a point's group is called; null if it is in none, or if they are not shown. */
export function groupName(colouring: Colouring | null, row: number): string | null {
  if (colouring?.key !== GROUPS) return null;
  const group = colouring.values[row];
  return Number.isNaN(group) ? null : (colouring.categories?.[group] ?? null);
}
