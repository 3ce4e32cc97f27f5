/** Colours of points: palettes that people with any colour vision can tell apart, on light and on dark. */

import type { Colouring } from "./types";

export type Theme = "light" | "dark";

interface Palette {
  categories: string[];
  /** Stops of the scale for numbers, low to high, even in lightness. */
  numbers: string[];
  unknown: string;
  /** Points within an outline that was drawn. */
  selected: string;
  /** What unsure colours fade into. */
  ground: string;
  /** Points without a colour that match the filter. */
  found: string;
}

// Categories: the smallest distance of any two, and of each from the background, is as large as was found, in OKLab,
// for people who see all colours and for those who lack one kind of cones. The first are those that are clearest, and
// alike in both themes. Numbers: viridis without the end that
// would vanish in the background.
export const PALETTES: Record<Theme, Palette> = {
  light: {
    categories: [
      "#0078c3",
      "#c33c00",
      "#78c300",
      "#691ea5",
      "#c37800",
      "#d21ec3",
      "#3cc3ff",
      "#5a0f00",
      "#ff5a69",
      "#00a55a",
      "#873c5a",
      "#2d0f78",
      "#3c0fff",
      "#a55a69",
      "#78003c",
      "#a50f00",
      "#e1a587",
      "#785a96",
      "#3c3c78",
      "#875aff",
      "#a596d2",
      "#c38796",
      "#0f0fd2",
      "#4b96ff",
    ],
    numbers: ["#440154", "#443a83", "#31688e", "#21908d", "#35b779", "#a2d130"],
    unknown: "#b4b8c2",
    selected: "#1b1f27",
    ground: "#ffffff",
    found: "#1b1f27",
  },
  dark: {
    categories: [
      "#3cb4ff",
      "#f00f3c",
      "#a5e100",
      "#875ad2",
      "#f0d287",
      "#ff69c3",
      "#78f0ff",
      "#876900",
      "#e19696",
      "#3cb469",
      "#b42d87",
      "#c3ff00",
      "#96c34b",
      "#8787ff",
      "#fff096",
      "#b49600",
      "#4b69a5",
      "#5ad2ff",
      "#b46969",
      "#a5ffd2",
      "#782dff",
      "#ffa5d2",
      "#d200b4",
      "#d26996",
    ],
    numbers: ["#4d5aa8", "#3b80a8", "#2aa198", "#45c27c", "#9bdc46", "#fde725"],
    unknown: "#555b68",
    selected: "#ffffff",
    ground: "#15171e",
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

/** Black or white, whichever is read more easily on a colour. */
export function inkOn(colour: string): string {
  const [r, g, b] = parsed(colour);
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#000000" : "#ffffff";
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

/** A colour of which it is unsure whether it is the right one. */
export function faded(theme: Theme, colour: string): string {
  return rampColour([PALETTES[theme].ground, colour], PALE);
}

export function categoryColour(theme: Theme, category: number): string {
  const { categories } = PALETTES[theme];
  return categories[category % categories.length];
}

/** How much of a colour is left where a group is unsure. */
const PALE = 0.38;

/** Colours of a plot: the first entries are unknown, selected and found; those of the colouring follow. */
export const UNKNOWN = 0;
export const SELECTED = 1;
export const FOUND = 2;
const FIRST = 3;

export function paletteOf(theme: Theme, kind: Colouring["kind"] | null): string[] {
  const palette = PALETTES[theme];
  const own =
    kind === "numbers"
      ? Array.from({ length: STEPS }, (_, k) => rampColour(palette.numbers, k / (STEPS - 1)))
      : [...palette.categories, ...palette.categories.map((colour) => faded(theme, colour))];
  return [palette.unknown, palette.selected, palette.found, ...own];
}

/** For each point, the entry of paletteOf. */
export function colourIndices(colouring: Colouring | null, n: number): Uint8Array {
  const indices = new Uint8Array(n);
  if (colouring === null) return indices;
  const { values, pale } = colouring;
  const many = PALETTES.light.categories.length;
  const [low, high] = colouring.range ?? [0, 1];
  const scale = high > low ? (STEPS - 1) / (high - low) : 0;
  for (let i = 0; i < n; i++) {
    const value = values[i];
    if (Number.isNaN(value)) continue;
    if (colouring.kind === "categories") {
      indices[i] = FIRST + (value % many) + (pale?.[i] === 1 ? many : 0);
    } else indices[i] = FIRST + Math.round(Math.min(STEPS - 1, Math.max(0, (value - low) * scale)));
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
