import { describe, expect, it } from "vitest";
import { advance, easeInOutCubic, headFor, mix, resting } from "../src/logic/motion";

const at = (...values: number[]): Float32Array => Float32Array.from(values);

describe("easeInOutCubic", () => {
  it("starts, ends, is even about the middle and never turns back", () => {
    expect(easeInOutCubic(0)).toBe(0);
    expect(easeInOutCubic(1)).toBe(1);
    expect(easeInOutCubic(0.5)).toBe(0.5);
    expect(easeInOutCubic(0.2) + easeInOutCubic(0.8)).toBeCloseTo(1);
    for (let t = 0; t < 1; t += 0.05)
      expect(easeInOutCubic(t + 0.05)).toBeGreaterThan(easeInOutCubic(t));
  });
});

describe("mix", () => {
  it("gives either end and the middle", () => {
    const out = at(0, 0);
    mix(out, at(1, 2), at(3, 6), 0.5);
    expect([...out]).toEqual([2, 4]);
  });
});

describe("motion", () => {
  it("moves in its first frame, and arrives exactly", () => {
    const motion = resting(at(0, 0));
    headFor(motion, at(1, -1), 1000, 400);
    expect(advance(motion, 1000)).toBe(true);
    expect(motion.now[0]).toBeGreaterThan(0);
    advance(motion, 1400);
    expect([...motion.now]).toEqual([1, -1]);
    expect(advance(motion, 1500)).toBe(false);
  });

  it("goes on from where points are when another layout comes", () => {
    const motion = resting(at(0, 0));
    headFor(motion, at(1, 1), 0, 400);
    advance(motion, 200);
    const middle = motion.now[0];
    headFor(motion, at(-1, 5), 200, 400);
    advance(motion, 200);
    expect(motion.now[0]).toBeCloseTo(middle, 2);
    // At once, not with a halt in between.
    advance(motion, 220);
    expect(motion.now[1] - middle).toBeGreaterThan(0.1 * (5 - middle));
    advance(motion, 700);
    expect([...motion.now]).toEqual([-1, 5]);
  });

  it("jumps when there is no time for it", () => {
    const motion = resting(at(0, 0));
    headFor(motion, at(7, 7), 50, 0);
    advance(motion, 50);
    expect([...motion.now]).toEqual([7, 7]);
    expect(motion.moving).toBe(false);
  });
});
