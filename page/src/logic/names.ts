/** Where names of categories belong on the map: in the thick of their points, and not over one another. */

import type { Colouring } from "./types";

export interface Spot {
  category: number;
  name: string;
  /** Points that are where most of the category are; the name stays in their middle as they move. */
  rows: number[];
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

const MOST_NAMES = 24;
const FEWEST_POINTS = 3;
const MOST_ROWS = 48;
/** Cells of a grid over the square from −1 to 1, with a margin. */
const SIDE = 32;
const REACH = 1.1;

function cellOf(x: number, y: number): number {
  const at = (value: number): number =>
    Math.min(SIDE - 1, Math.max(0, Math.floor(((value + REACH) / (2 * REACH)) * SIDE)));
  return at(y) * SIDE + at(x);
}

/** The cell that has most points together with those around it. */
function thickest(counts: Uint32Array): number {
  let best = 0;
  let most = -1;
  for (let cell = 0; cell < counts.length; cell++) {
    if (counts[cell] === 0) continue;
    const sum = around(cell).reduce((total, other) => total + counts[other], counts[cell]);
    if (sum > most) [best, most] = [cell, sum];
  }
  return best;
}

function around(cell: number): number[] {
  const [row, column] = [Math.floor(cell / SIDE), cell % SIDE];
  const found: number[] = [];
  for (let y = Math.max(0, row - 1); y <= Math.min(SIDE - 1, row + 1); y++) {
    for (let x = Math.max(0, column - 1); x <= Math.min(SIDE - 1, column + 1); x++) {
      if (y !== row || x !== column) found.push(y * SIDE + x);
    }
  }
  return found;
}

/** Where the names of the largest categories belong, the largest first. */
export function spotsOf(positions: Float32Array, colouring: Colouring | null): Spot[] {
  if (colouring?.kind !== "categories" || colouring.categories === null) return [];
  const { categories, values } = colouring;
  const sizes = new Uint32Array(categories.length);
  for (const value of values) if (value >= 0 && value < sizes.length) sizes[value]++;
  const largest = [...sizes.keys()]
    .filter((category) => sizes[category] >= FEWEST_POINTS)
    .sort((a, b) => sizes[b] - sizes[a])
    .slice(0, MOST_NAMES);
  const place = new Int32Array(categories.length).fill(-1);
  largest.forEach((category, i) => {
    place[category] = i;
  });
  const placeOf = (row: number): number => place[values[row]] ?? -1;

  const counts = largest.map(() => new Uint32Array(SIDE * SIDE));
  for (let row = 0; row < values.length; row++) {
    const i = placeOf(row);
    if (i >= 0) counts[i][cellOf(positions[2 * row], positions[2 * row + 1])]++;
  }
  const cells = counts.map(thickest);
  const rows = largest.map((): number[] => []);
  for (let row = 0; row < values.length; row++) {
    const i = placeOf(row);
    if (i < 0 || rows[i].length >= MOST_ROWS) continue;
    if (cellOf(positions[2 * row], positions[2 * row + 1]) === cells[i]) rows[i].push(row);
  }
  return largest.map((category, i) => ({
    category,
    name: categories[category],
    rows: rows[i],
  }));
}

/** The middle of some points. */
export function middleOf(positions: Float32Array, rows: number[]): [number, number] {
  let [x, y] = [0, 0];
  for (const row of rows) {
    x += positions[2 * row];
    y += positions[2 * row + 1];
  }
  return [x / rows.length, y / rows.length];
}

/** Steps up and down, in heights of a name, that are tried before it is left out. */
const STEPS = [0, -1, 1, -2, 2];

/** Corners of names around their middles, none beyond a map so wide; null for those without room. */
export function placed(middles: Box[], wide?: number): ([number, number] | null)[] {
  const taken: Box[] = [];
  return middles.map(({ x, y, width, height }) => {
    const isSeen = wide !== undefined && x >= 0 && x <= wide;
    const left = isSeen ? Math.max(0, Math.min(x - width / 2, wide - width)) : x - width / 2;
    for (const step of STEPS) {
      const box = { x: left, y: y - height / 2 + step * height, width, height };
      if (taken.some((other) => overlap(box, other))) continue;
      taken.push(box);
      return [box.x, box.y];
    }
    return null;
  });
}

function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}
