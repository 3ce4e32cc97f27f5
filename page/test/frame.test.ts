import { describe, expect, it } from "vitest";
import { followedFrame, normalised, robustFrame } from "../src/logic/frame";

function cloud(n: number, scale = 1, shift = 0): Float32Array {
  return Float32Array.from(
    { length: 2 * n },
    (_, i) => shift + scale * Math.sin(i * 12.9898) * (1 + (i % 7) / 7),
  );
}

describe("robustFrame", () => {
  it("is not moved by a few far points", () => {
    const points = cloud(2000);
    const far = points.slice();
    far.set([1e6, -1e6, 1e6, 1e6]);
    const [own, shaken] = [robustFrame(points), robustFrame(far)];
    expect(shaken.radius).toBeCloseTo(own.radius, 1);
    expect(shaken.x).toBeCloseTo(own.x, 1);
  });

  it("holds nearly all points once they are normalised", () => {
    const points = cloud(5000, 30, 700);
    const inside = normalised(points, robustFrame(points)).filter((x) => Math.abs(x) <= 1);
    expect(inside.length / points.length).toBeGreaterThan(0.98);
  });

  it("gives something to draw for one point, equal points, none and NaN", () => {
    for (const points of [[3, 4], [3, 4, 3, 4], [], [Number.NaN, Number.NaN]]) {
      const frame = robustFrame(Float32Array.from(points));
      expect(frame.radius).toBe(1);
      expect(Number.isFinite(frame.x)).toBe(true);
    }
  });
});

describe("followedFrame", () => {
  const own = { x: 0, y: 0, radius: 1 };

  it("takes the first layout as it is", () => {
    expect(followedFrame(null, own)).toEqual(own);
  });

  it("follows slowly when points come closer together", () => {
    const next = followedFrame({ ...own, radius: 1.5 }, own);
    expect(next.radius).toBeGreaterThan(1.05);
    expect(next.radius).toBeLessThan(1.5);
  });

  it("never lets points leave the view", () => {
    const next = followedFrame({ ...own, radius: 0.01 }, own);
    expect(next.radius).toBeGreaterThan(0.9);
  });

  it("comes to rest where the layout is", () => {
    let frame = { ...own, radius: 1.9 };
    for (let k = 0; k < 40; k++) frame = followedFrame(frame, own);
    expect(frame.radius).toBeCloseTo(1, 3);
  });
});
