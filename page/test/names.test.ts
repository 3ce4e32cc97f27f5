import { describe, expect, it } from "vitest";
import { middleOf, placed, spotsOf } from "../src/logic/names";
import type { Colouring } from "../src/logic/types";

function colouring(values: number[], categories: string[]): Colouring {
  return {
    key: "column-0",
    name: "kind",
    kind: "categories",
    categories,
    range: null,
    values: Float32Array.from(values),
  };
}

describe("spotsOf", () => {
  it("is where most points of a category are, not in the middle of all", () => {
    const places = [
      ...[0, 1, 2, 3].flatMap(() => [-0.5, -0.5]),
      ...[0, 1].flatMap(() => [0.9, 0.9]),
      ...[0, 1, 2].flatMap(() => [0.5, 0]),
    ];
    const values = [0, 0, 0, 0, 0, 0, 1, 1, 1];
    const spots = spotsOf(Float32Array.from(places), colouring(values, ["many", "few"]));
    expect(spots.map(({ name }) => name)).toEqual(["many", "few"]);
    expect(spots[0].rows).toEqual([0, 1, 2, 3]);
    expect(middleOf(Float32Array.from(places), spots[1].rows)).toEqual([0.5, 0]);
  });

  it("leaves out the unknown, the tiny and what is no category", () => {
    const places = new Float32Array(12);
    const one = colouring([Number.NaN, 0, 0, 1, 1, 1], ["two of them", "three"]);
    expect(spotsOf(places, one).map(({ category }) => category)).toEqual([1]);
    expect(spotsOf(places, null)).toEqual([]);
    expect(spotsOf(places, { ...one, kind: "numbers", categories: null })).toEqual([]);
  });

  it("takes points that are far outside", () => {
    const far = Float32Array.from([1e6, -1e6, 1e6, -1e6, 1e6, -1e6]);
    expect(spotsOf(far, colouring([0, 0, 0], ["far"]))[0].rows).toEqual([0, 1, 2]);
  });
});

describe("placed", () => {
  const box = (x: number, y: number) => ({ x, y, width: 40, height: 10 });

  it("puts names in the middle, and moves or leaves out those without room", () => {
    expect(placed([box(100, 100), box(300, 100)])).toEqual([
      [80, 95],
      [280, 95],
    ]);
    const corners = placed(Array.from({ length: 7 }, () => box(100, 100)));
    expect(corners.filter((corner) => corner === null)).toHaveLength(2);
    const heights = corners.flatMap((corner) => (corner === null ? [] : [corner[1]]));
    expect(new Set(heights).size).toBe(5);
    // In a map of 320 pixels names are seen as wholes, unless their points are out of sight.
    const edges = [box(5, 100), box(316, 100), box(-5, 200)];
    expect(placed(edges, 320).map((corner) => corner?.[0])).toEqual([0, 280, -25]);
  });
});
