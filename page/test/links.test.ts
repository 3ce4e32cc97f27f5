import { describe, expect, it } from "vitest";
import { linkEnds } from "../src/logic/links";
import { fromScreen, screenMap, toScreen } from "../src/logic/screen";

const VIEW = [2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0.5, -0.25, 0, 1];
const MAP = screenMap(VIEW, 400, 200);

describe("screenMap", () => {
  it("brings the centre of an untouched view to the middle", () => {
    const still = screenMap([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1], 400, 200);
    expect(toScreen(still, 0, 0)).toEqual([200, 100]);
    expect(toScreen(still, 0, 1)).toEqual([200, 0]);
    expect(toScreen(still, 1, 0)).toEqual([300, 100]);
  });

  it("has an inverse", () => {
    const [x, y] = fromScreen(MAP, ...toScreen(MAP, 0.3, -0.7));
    expect(x).toBeCloseTo(0.3);
    expect(y).toBeCloseTo(-0.7);
  });
});

describe("linkEnds", () => {
  const positions = Float32Array.of(0, 0, 0.5, 0.5, 90, 0, 91, 1);

  it("gives both ends on the screen", () => {
    const out = new Float32Array(4);
    expect(linkEnds(out, Uint32Array.of(0, 1), positions, MAP)).toBe(4);
    expect([...out]).toEqual([...toScreen(MAP, 0, 0), ...toScreen(MAP, 0.5, 0.5)]);
  });

  it("leaves out lines to one side, not those that cross", () => {
    const out = new Float32Array(8);
    expect(linkEnds(out, Uint32Array.of(2, 3, 0, 2), positions, MAP)).toBe(4);
    expect(out[0]).toBe(toScreen(MAP, 0, 0)[0]);
  });
});
