import { describe, expect, it } from "vitest";
import {
  colourIndices,
  countCategories,
  matchedCategories,
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

function contrast(a: string, b: string): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

describe("palettes", () => {
  it("are seen on their background", () => {
    for (const colour of PALETTES.light.categories)
      expect(contrast(colour, "#ffffff")).toBeGreaterThan(2.4);
    for (const colour of PALETTES.dark.categories)
      expect(contrast(colour, "#15171e")).toBeGreaterThan(4.5);
  });

  it("have no colour twice", () => {
    for (const { categories } of Object.values(PALETTES))
      expect(new Set(categories).size).toBe(categories.length);
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

describe("matchedCategories", () => {
  it("gives clusters the numbers they had", () => {
    const before = Float32Array.of(0, 0, 0, 1, 1, 2);
    const after = Float32Array.of(2, 2, 2, 0, 0, 1);
    expect([...matchedCategories(before, after, 3)]).toEqual([1, 2, 0]);
  });

  it("uses every number once, whatever comes", () => {
    const before = Float32Array.of(0, 0, 0, 0);
    const after = Float32Array.of(3, 3, 1, 0);
    const numbers = matchedCategories(before, after, 4);
    expect([...numbers].sort()).toEqual([0, 1, 2, 3]);
    expect(numbers[3]).toBe(0);
  });
});
