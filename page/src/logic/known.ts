/** What is known, after one more answer, without asking the server for all of it again. */

import type { Known, Pair, Same, Word } from "./types";

/** Whether two pairs are the same, in either order. */
export function isPair(one: Pair, { left, right }: Pair): boolean {
  return (one.left === left && one.right === right) || (one.left === right && one.right === left);
}

function without(links: number[], { left, right }: Pair): number[] {
  const kept: number[] = [];
  for (let k = 0; k < links.length; k += 2) {
    const [i, j] = [links[k], links[k + 1]];
    if ((i === left && j === right) || (i === right && j === left)) continue;
    kept.push(i, j);
  }
  return kept;
}

function has(links: number[], { left, right }: Pair): boolean {
  return without(links, { left, right }).length < links.length;
}

export function wordOf(same: Same): Word {
  return same === null ? "unsure" : same ? "same" : "different";
}

/** What is said of a pair. */
export function saidOfPair(known: Known, pair: Pair): Word {
  if (has(known.must_link, pair)) return "same";
  if (has(known.cannot_link, pair)) return "different";
  return has(known.unsure, pair) ? "unsure" : "nothing";
}

/** The last answer of a pair counts. */
export function withAnswer(known: Known, pair: Pair, same: Same, version: number): Known {
  const must_link = without(known.must_link, pair);
  const cannot_link = without(known.cannot_link, pair);
  const unsure = without(known.unsure, pair);
  const links = same === null ? unsure : same ? must_link : cannot_link;
  links.push(pair.left, pair.right);
  return { ...known, version, must_link, cannot_link, unsure };
}
