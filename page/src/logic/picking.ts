/** Which point is meant: by a place, by a direction, by an outline. All pass once over the points. */

/** The point nearest to a place within a radius, or −1. */
export function nearestPoint(
  positions: Float32Array,
  x: number,
  y: number,
  radius = Number.POSITIVE_INFINITY,
): number {
  let best = -1;
  let bestSquare = radius * radius;
  for (let i = 0; i < positions.length; i += 2) {
    const dx = positions[i] - x;
    const dy = positions[i + 1] - y;
    const square = dx * dx + dy * dy;
    if (square < bestSquare) {
      bestSquare = square;
      best = i / 2;
    }
  }
  return best;
}

export type Direction = "left" | "right" | "up" | "down";

const ALONG: Record<Direction, [number, number]> = {
  left: [-1, 0],
  right: [1, 0],
  up: [0, 1],
  down: [0, -1],
};

/** Distance sideways counts this much, so that steps go where the key points. */
const SIDEWAYS = 2;

/**
 * The next point from `start` in a direction: within 45° of it, near, and rather ahead than aside; or −1.
 *
 * Points at the very same place count as ahead if their number is higher for right and up, lower for left and
 * down, so that none is out of reach.
 */
export function nextPoint(positions: Float32Array, start: number, direction: Direction): number {
  const [ux, uy] = ALONG[direction];
  const x = positions[2 * start];
  const y = positions[2 * start + 1];
  const forward = direction === "right" || direction === "up";
  let best = -1;
  let bestCost = Number.POSITIVE_INFINITY;
  let twin = -1;
  for (let i = 0; i < positions.length / 2; i++) {
    if (i === start) continue;
    const dx = positions[2 * i] - x;
    const dy = positions[2 * i + 1] - y;
    if (dx === 0 && dy === 0) {
      if (forward && i > start && twin < 0) twin = i;
      if (!forward && i < start) twin = i;
      continue;
    }
    const ahead = dx * ux + dy * uy;
    const aside = Math.abs(dx * uy - dy * ux);
    if (ahead <= 0 || aside > ahead) continue;
    const cost = ahead + SIDEWAYS * aside;
    if (cost < bestCost) {
      bestCost = cost;
      best = i;
    }
  }
  return twin >= 0 ? twin : best;
}

/** Numbers of the points inside an outline x0 y0 x1 y1 …, by the even-odd rule. */
export function pointsInside(positions: Float32Array, outline: ArrayLike<number>): number[] {
  const corners = outline.length / 2;
  if (corners < 3) return [];
  let left = Number.POSITIVE_INFINITY;
  let right = Number.NEGATIVE_INFINITY;
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (let c = 0; c < corners; c++) {
    left = Math.min(left, outline[2 * c]);
    right = Math.max(right, outline[2 * c]);
    low = Math.min(low, outline[2 * c + 1]);
    high = Math.max(high, outline[2 * c + 1]);
  }
  const inside: number[] = [];
  for (let i = 0; i < positions.length; i += 2) {
    const x = positions[i];
    const y = positions[i + 1];
    if (x < left || x > right || y < low || y > high) continue;
    let odd = false;
    for (let c = 0, d = corners - 1; c < corners; d = c++) {
      const cy = outline[2 * c + 1];
      const dy = outline[2 * d + 1];
      if (cy > y === dy > y) continue;
      const cx = outline[2 * c];
      if (x < ((outline[2 * d] - cx) * (y - cy)) / (dy - cy) + cx) odd = !odd;
    }
    if (odd) inside.push(i / 2);
  }
  return inside;
}
