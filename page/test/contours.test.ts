import { describe, expect, it } from "vitest";
import { contour, contours, densityOf, levelsOf } from "../src/logic/contours";

/** Points evenly within a disc. */
function disc(n: number, x: number, y: number, radius: number): number[] {
  return Array.from({ length: n }, (_, i) => {
    const [far, angle] = [radius * Math.sqrt((i + 0.5) / n), i * 2.399963];
    return [x + far * Math.cos(angle), y + far * Math.sin(angle)];
  }).flat();
}

describe("contours", () => {
  it("go around where points are dense", () => {
    const pieces = contours(Float32Array.from(disc(20_000, 0.2, -0.1, 0.5)));
    expect(pieces.length).toBeGreaterThan(400);
    expect(pieces.length % 4).toBe(0);
    const density = densityOf(Float32Array.from(disc(20_000, 0.2, -0.1, 0.5)));
    const outermost = contour(density, levelsOf(density, [0.95])[0]);
    for (let i = 0; i < outermost.length; i += 2) {
      const far = Math.hypot(outermost[i] - 0.2, outermost[i + 1] + 0.1);
      expect(far).toBeGreaterThan(0.42);
      expect(far).toBeLessThan(0.56);
    }
  });

  it("hold the share of the points that they are said to", () => {
    const density = Float32Array.from([4, 3, 2, 1, 0, 0]);
    expect(levelsOf(density, [0.4, 0.7, 0.95])).toEqual([4, 3, 1]);
  });

  it("are closed", () => {
    const points = [...disc(9000, -0.5, -0.5, 0.3), ...disc(9000, 0.5, 0.4, 0.2)];
    const density = densityOf(Float32Array.from(points));
    const pieces = contour(density, levelsOf(density, [0.75])[0]);
    const ends = new Map<string, number>();
    for (let i = 0; i < pieces.length; i += 2) {
      const end = `${pieces[i].toFixed(4)} ${pieces[i + 1].toFixed(4)}`;
      ends.set(end, (ends.get(end) ?? 0) + 1);
    }
    expect([...ends.values()].every((times) => times % 2 === 0)).toBe(true);
  });

  it("are none of no points, and of points that are out of sight", () => {
    expect(contours(new Float32Array(0))).toHaveLength(0);
    expect(contours(Float32Array.of(1e6, 1e6))).toHaveLength(0);
  });
});
