/** Lines around where points are dense: each holds a share of all points. */

/** Cells of a grid over the square from −1 to 1, with a margin. */
const SIDE = 96;
const REACH = 1.15;
const SMOOTHINGS = 3;
/** Of all points, those within the lines, from the innermost. */
export const SHARES = [0.25, 0.5, 0.75, 0.95];

/** Points in each cell, smoothed. */
export function densityOf(positions: Float32Array): Float32Array {
  let density: Float32Array = new Float32Array(SIDE * SIDE);
  const scale = SIDE / (2 * REACH);
  for (let i = 0; i < positions.length; i += 2) {
    const column = Math.floor((positions[i] + REACH) * scale);
    const row = Math.floor((positions[i + 1] + REACH) * scale);
    if (column >= 0 && column < SIDE && row >= 0 && row < SIDE) density[row * SIDE + column]++;
  }
  for (let time = 0; time < SMOOTHINGS; time++) {
    density = smoothed(density, 1);
    density = smoothed(density, SIDE);
  }
  return density;
}

/** Means of three along rows (step 1) or columns (step SIDE). */
function smoothed(density: Float32Array, step: number): Float32Array {
  const found = new Float32Array(density.length);
  for (let line = 0; line < SIDE; line++) {
    const start = step === 1 ? line * SIDE : line;
    for (let k = 0; k < SIDE; k++) {
      const at = start + k * step;
      const before = k > 0 ? density[at - step] : 0;
      const after = k < SIDE - 1 ? density[at + step] : 0;
      found[at] = (before + 2 * density[at] + after) / 4;
    }
  }
  return found;
}

/** Densities above which there are so large shares of all points. */
export function levelsOf(density: Float32Array, shares: number[] = SHARES): number[] {
  const sorted = density.slice().sort().reverse();
  const total = sorted.reduce((sum, value) => sum + value, 0);
  const levels: number[] = [];
  let within = 0;
  for (const value of sorted) {
    if (levels.length === shares.length || value === 0) break;
    within += value;
    while (levels.length < shares.length && within >= shares[levels.length] * total) {
      levels.push(value);
    }
  }
  return levels;
}

/** Ends x0 y0 x1 y1 … of the pieces of one line, by marching squares. */
export function contour(density: Float32Array, level: number): number[] {
  const found: number[] = [];
  const place = (cell: number): number => ((cell + 0.5) / SIDE) * 2 * REACH - REACH;
  for (let row = 0; row < SIDE - 1; row++) {
    for (let column = 0; column < SIDE - 1; column++) {
      const at = row * SIDE + column;
      // Corners in turn, and where the line crosses the side after each of them.
      const corners = [density[at], density[at + 1], density[at + SIDE + 1], density[at + SIDE]];
      const crossings: number[] = [];
      for (let side = 0; side < 4; side++) {
        const [from, to] = [corners[side], corners[(side + 1) % 4]];
        if (from >= level === to >= level) continue;
        const part = (level - from) / (to - from);
        const [x0, y0] = CORNERS[side];
        const [x1, y1] = CORNERS[(side + 1) % 4];
        crossings.push(place(column + x0 + part * (x1 - x0)), place(row + y0 + part * (y1 - y0)));
      }
      // Two crossings, or four, where two opposite corners are above.
      if (crossings.length === 8 && corners[0] < level) {
        crossings.push(...crossings.splice(0, 2));
      }
      found.push(...crossings);
    }
  }
  return found;
}

const CORNERS = [
  [0, 0],
  [1, 0],
  [1, 1],
  [0, 1],
] as const;

/** Ends of the pieces of all lines. */
export function contours(positions: Float32Array): Float32Array {
  const density = densityOf(positions);
  return Float32Array.from(levelsOf(density).flatMap((level) => contour(density, level)));
}
