import { describe, expect, it } from "vitest";
import { nearestPoint, nextPoint, pointsInside } from "../src/logic/picking";

// A plus sign with its centre, and a far point aside.
const PLUS = Float32Array.of(0, 0, 1, 0, -1, 0, 0, 1, 0, -1, 3, 2.9);

describe("nearestPoint", () => {
  it("finds the nearest within reach only", () => {
    expect(nearestPoint(PLUS, 0.9, 0.1)).toBe(1);
    expect(nearestPoint(PLUS, 0.9, 0.1, 0.05)).toBe(-1);
    expect(nearestPoint(new Float32Array(0), 0, 0)).toBe(-1);
  });
});

describe("nextPoint", () => {
  it("goes where the arrow points", () => {
    expect(nextPoint(PLUS, 0, "right")).toBe(1);
    expect(nextPoint(PLUS, 0, "left")).toBe(2);
    expect(nextPoint(PLUS, 0, "up")).toBe(3);
    expect(nextPoint(PLUS, 0, "down")).toBe(4);
    expect(nextPoint(PLUS, 1, "left")).toBe(0);
  });

  it("stops at the edge", () => {
    expect(nextPoint(PLUS, 4, "down")).toBe(-1);
  });

  it("reaches points that lie on one another", () => {
    const twins = Float32Array.of(0, 0, 0, 0, 0, 0, 1, 0);
    expect(nextPoint(twins, 0, "right")).toBe(1);
    expect(nextPoint(twins, 1, "right")).toBe(2);
    expect(nextPoint(twins, 2, "right")).toBe(3);
    expect(nextPoint(twins, 2, "left")).toBe(1);
  });

  it("reaches every point of a cloud from any other", () => {
    const n = 60;
    const cloud = Float32Array.from({ length: 2 * n }, (_, i) => Math.sin(i * 78.233 + i * i));
    const reached = new Set([0]);
    const queue = [0];
    for (let from = queue.pop(); from !== undefined; from = queue.pop()) {
      for (const direction of ["left", "right", "up", "down"] as const) {
        const to = nextPoint(cloud, from, direction);
        if (to < 0 || reached.has(to)) continue;
        reached.add(to);
        queue.push(to);
      }
    }
    expect(reached.size).toBe(n);
  });
});

describe("pointsInside", () => {
  it("takes the points within an outline", () => {
    const outline = [-0.5, -0.5, 1.5, -0.5, 1.5, 0.5, -0.5, 0.5];
    expect(pointsInside(PLUS, outline)).toEqual([0, 1]);
  });

  it("leaves out what a bent outline goes around", () => {
    const hook = [-2, -2, 2, -2, 2, 2, 0.5, 2, 0.5, -0.5, -0.5, -0.5, -0.5, 2, -2, 2];
    expect(pointsInside(PLUS, hook)).toEqual([1, 2, 4]);
  });

  it("has nothing inside a line", () => {
    expect(pointsInside(PLUS, [0, 0, 1, 1])).toEqual([]);
  });
});
