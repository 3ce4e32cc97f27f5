import { describe, expect, it } from "vitest";
import {
  colourIndices,
  countCategories,
  faded,
  PALETTES,
  paletteOf,
  parsed,
  rampColour,
  UNKNOWN,
} from "../src/logic/colours";
import type { Colouring } from "../src/logic/types";

function colouring(part: Partial<Colouring>): Colouring {
  return {
    key: "column-0",
    name: "kind",
    kind: "categories",
    categories: ["a", "b", "c"],
    range: null,
    values: Float32Array.of(0, 2, Number.NaN, 2),
    ...part,
  };
}

/** Relative luminance, as the contrast rules of the W3C define it. */
function luminance(hex: string): number {
  const [r, g, b] = parsed(hex).map((part) => {
    const c = part / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** All colours, and without one kind of cones each (Machado, Oliveira and Fernandes, 2009). */
const VISIONS = [
  [1, 0, 0, 0, 1, 0, 0, 0, 1],
  [0.152, 1.053, -0.205, 0.115, 0.786, 0.099, -0.004, -0.048, 1.052],
  [0.367, 0.861, -0.228, 0.28, 0.673, 0.047, -0.012, 0.043, 0.969],
  [1.256, -0.077, -0.179, -0.078, 0.931, 0.148, 0.005, 0.691, 0.304],
];

function times(matrix: number[], [x, y, z]: number[]): number[] {
  return [0, 3, 6].map((k) => matrix[k] * x + matrix[k + 1] * y + matrix[k + 2] * z);
}

/** Where a colour is in OKLab, as it is seen. */
function seen(hex: string, cones: number[]): number[] {
  const linear = parsed(hex).map((part) => {
    const c = part / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  const rgb = times(cones, linear).map((c) => Math.min(1, Math.max(0, c)));
  const lms = times(
    [0.4122, 0.5363, 0.0514, 0.2119, 0.6807, 0.1074, 0.0883, 0.2817, 0.63],
    rgb,
  ).map(Math.cbrt);
  return times([0.2105, 0.7936, -0.0041, 1.978, -2.4286, 0.4506, 0.0259, 0.7828, -0.8087], lms);
}

function distance(one: number[], other: number[]): number {
  return Math.hypot(...one.map((part, k) => part - other[k]));
}

function contrast(a: string, b: string): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

describe("palettes", () => {
  it("are seen on their background", () => {
    for (const colour of PALETTES.light.categories)
      expect(contrast(colour, "#ffffff")).toBeGreaterThan(2);
    for (const colour of PALETTES.dark.categories)
      expect(contrast(colour, "#15171e")).toBeGreaterThan(3);
  });

  it("have at least 20 colours that people with any colour vision tell apart", () => {
    for (const { categories, unknown } of Object.values(PALETTES)) {
      expect(categories.length).toBeGreaterThanOrEqual(20);
      for (const cones of VISIONS) {
        const all = [...categories, unknown].map((colour) => seen(colour, cones));
        const apart = all.flatMap((one, i) => all.slice(0, i).map((other) => distance(one, other)));
        expect(Math.min(...apart)).toBeGreaterThan(0.05);
      }
    }
  });

  it("grow lighter from low to high numbers", () => {
    for (const { numbers } of Object.values(PALETTES)) {
      const light = numbers.map(luminance);
      expect([...light].sort((a, b) => a - b)).toEqual(light);
    }
  });
});

describe("parsed", () => {
  it("reads long and short colours", () => {
    expect(parsed("#ff8000")).toEqual([255, 128, 0]);
    expect(parsed("#f80")).toEqual([255, 136, 0]);
  });
});

describe("rampColour", () => {
  it("has its ends and its middle", () => {
    expect(rampColour(["#000000", "#ffffff"], 0)).toBe("#000000");
    expect(rampColour(["#000000", "#ffffff"], 1)).toBe("#ffffff");
    expect(rampColour(["#000000", "#ffffff"], 0.5)).toBe("#808080");
    expect(rampColour(["#000000", "#ffffff"], 7)).toBe("#ffffff");
  });
});

describe("colourIndices", () => {
  it("names an entry of the palette for every point", () => {
    const indices = colourIndices(colouring({}), 4);
    const palette = paletteOf("light", "categories");
    expect(indices[2]).toBe(UNKNOWN);
    expect(palette[indices[0]]).toBe(PALETTES.light.categories[0]);
    expect(palette[indices[1]]).toBe(PALETTES.light.categories[2]);
  });

  it("spreads numbers over the scale, and holds those beyond its ends", () => {
    const values = Float32Array.of(0, 10, -5, 99, Number.NaN);
    const indices = colourIndices(colouring({ kind: "numbers", range: [0, 10], values }), 5);
    const palette = paletteOf("dark", "numbers");
    expect(palette[indices[0]]).toBe(PALETTES.dark.numbers[0]);
    expect(palette[indices[1]]).toBe(PALETTES.dark.numbers.at(-1));
    expect(indices[2]).toBe(indices[0]);
    expect(indices[3]).toBe(indices[1]);
    expect(indices[4]).toBe(UNKNOWN);
  });

  it("fades what is unsure", () => {
    const indices = colourIndices(colouring({ pale: Uint8Array.of(1, 0, 0, 0) }), 4);
    const palette = paletteOf("light", "categories");
    expect(palette[indices[0]]).toBe(faded("light", PALETTES.light.categories[0]));
    expect(palette[indices[1]]).toBe(PALETTES.light.categories[2]);
  });

  it("copes with numbers that are all the same, and with no colouring", () => {
    const values = Float32Array.of(3, 3);
    const indices = colourIndices(colouring({ kind: "numbers", range: [3, 3], values }), 2);
    expect(indices[0]).toBe(indices[1]);
    expect([...colourIndices(null, 2)]).toEqual([UNKNOWN, UNKNOWN]);
  });
});

describe("countCategories", () => {
  it("counts, and leaves out what is not there", () => {
    const { counts, unknown } = countCategories(colouring({}));
    expect(counts).toEqual([
      { category: 0, name: "a", count: 1 },
      { category: 2, name: "c", count: 2 },
    ]);
    expect(unknown).toBe(1);
  });
});
