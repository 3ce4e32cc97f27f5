/** Colours of points: palettes that people with any colour vision can tell apart, on light and on dark. */

import type { Colouring } from "./types";

export type Theme = "light" | "dark";

interface Palette {
  categories: string[];
  /** Stops of the scale for numbers, low to high, even in lightness. */
  numbers: string[];
  unknown: string;
  groupA: string;
  groupB: string;
  /** Points without a colour that match the filter. */
  found: string;
}

// Categories after Paul Tol's "muted" and "light" schemes; numbers after viridis without the end that would
// vanish in the background.
export const PALETTES: Record<Theme, Palette> = {
  light: {
    categories: [
      "#332288",
      "#e07b28",
      "#117733",
      "#cc6677",
      "#44a5c8",
      "#999933",
      "#882255",
      "#44aa99",
      "#aa4499",
      "#6b6f7a",
    ],
    numbers: ["#440154", "#443a83", "#31688e", "#21908d", "#35b779", "#a2d130"],
    unknown: "#b4b8c2",
    groupA: "#0b5fb0",
    groupB: "#c8500a",
    found: "#1b1f27",
  },
  dark: {
    categories: [
      "#8fa8ff",
      "#f2a65a",
      "#5fd08f",
      "#ff9db0",
      "#99ddff",
      "#c9c94a",
      "#e07bb0",
      "#3fc2ad",
      "#d3a6f0",
      "#c7cbd4",
    ],
    numbers: ["#4d5aa8", "#3b80a8", "#2aa198", "#45c27c", "#9bdc46", "#fde725"],
    unknown: "#555b68",
    groupA: "#7cc0ff",
    groupB: "#ffab66",
    found: "#ffffff",
  },
};

/** Steps of the scale for numbers. */
const STEPS = 64;

export type Rgb = [number, number, number];

/** Parts from 0 to 255 of a colour #rrggbb or #rgb. */
export function parsed(hex: string): Rgb {
  const long = hex.length === 4 ? hex.replace(/[0-9a-f]/gi, "$&$&") : hex;
  return [1, 3, 5].map((at) => Number.parseInt(long.slice(at, at + 2), 16)) as Rgb;
}

function written(rgb: Rgb): string {
  return `#${rgb.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;
}

/** A colour at t between 0 and 1 of a scale with stops. */
export function rampColour(stops: string[], t: number): string {
  const place = Math.min(1, Math.max(0, t)) * (stops.length - 1);
  const k = Math.min(stops.length - 2, Math.floor(place));
  const a = parsed(stops[k]);
  const b = parsed(stops[k + 1]);
  return written(a.map((part, i) => part + (b[i] - part) * (place - k)) as Rgb);
}

export function categoryColour(theme: Theme, category: number): string {
  const { categories } = PALETTES[theme];
  return categories[category % categories.length];
}

/** Colours of a plot: the first entries are unknown, group A, group B and found; those of the colouring follow. */
export const UNKNOWN = 0;
export const GROUP_A = 1;
export const GROUP_B = 2;
export const FOUND = 3;
const FIRST = 4;

export function paletteOf(theme: Theme, kind: Colouring["kind"] | null): string[] {
  const palette = PALETTES[theme];
  const own =
    kind === "numbers"
      ? Array.from({ length: STEPS }, (_, k) => rampColour(palette.numbers, k / (STEPS - 1)))
      : palette.categories;
  return [palette.unknown, palette.groupA, palette.groupB, palette.found, ...own];
}

/** For each point, the entry of paletteOf. */
export function colourIndices(colouring: Colouring | null, n: number): Uint8Array {
  const indices = new Uint8Array(n);
  if (colouring === null) return indices;
  const { values } = colouring;
  const many = PALETTES.light.categories.length;
  const [low, high] = colouring.range ?? [0, 1];
  const scale = high > low ? (STEPS - 1) / (high - low) : 0;
  for (let i = 0; i < n; i++) {
    const value = values[i];
    if (Number.isNaN(value)) continue;
    if (colouring.kind === "categories") indices[i] = FIRST + (value % many);
    else indices[i] = FIRST + Math.round(Math.min(STEPS - 1, Math.max(0, (value - low) * scale)));
  }
  return indices;
}

export interface CategoryCount {
  category: number;
  name: string;
  count: number;
}

/** Categories with their numbers of points in the order they have, and how many points have none. */
export function countCategories(colouring: Colouring): {
  counts: CategoryCount[];
  unknown: number;
} {
  const names = colouring.categories ?? [];
  const count = new Uint32Array(names.length);
  let unknown = 0;
  for (const value of colouring.values) {
    if (Number.isNaN(value)) unknown++;
    else count[value]++;
  }
  const counts = names
    .map((name, category) => ({ category, name, count: count[category] }))
    .filter((entry) => entry.count > 0);
  return { counts, unknown };
}

/**
 * New categories numbered after those they overlap with most, so that clusters keep their colours.
 *
 * Greedy: the largest overlap first. Gives for each new category the number that it is to have.
 */
export function matchedCategories(
  before: Float32Array,
  after: Float32Array,
  n: number,
): Uint32Array {
  const overlap = new Uint32Array(n * n);
  for (let i = 0; i < after.length; i++) {
    if (before[i] < n && after[i] < n) overlap[after[i] * n + before[i]]++;
  }
  const cells = Array.from(overlap.keys())
    .filter((cell) => overlap[cell] > 0)
    .sort((a, b) => overlap[b] - overlap[a]);
  const number = new Int32Array(n).fill(-1);
  const taken = new Uint8Array(n);
  for (const cell of cells) {
    const from = Math.floor(cell / n);
    const to = cell % n;
    if (number[from] >= 0 || taken[to]) continue;
    number[from] = to;
    taken[to] = 1;
  }
  let free = 0;
  for (let from = 0; from < n; from++) {
    if (number[from] >= 0) continue;
    while (taken[free]) free++;
    number[from] = free;
    taken[free] = 1;
  }
  return Uint32Array.from(number);
}
