/**
 * Where a layout lies in its own coordinates, and how to bring it to the square from −1 to 1.
 *
 * Layouts differ in scale from answer to answer. A few far points must not shrink all the others, and the
 * view must not jump; so a frame goes by quantiles, and follows slowly unless points would leave the view.
 */

export interface Frame {
  x: number;
  y: number;
  /** Half the side of the square that holds nearly all points. */
  radius: number;
}

const SAMPLE = 4096;
const INSIDE = 0.99;
/** Where the points at that quantile come to lie; the rest of the square is margin. */
const FILL = 0.84;
/** How much of the way (in logarithms) the radius goes to that of a new layout. */
const FOLLOW = 0.4;
const ROOM = 1.08;

function quantile(sorted: Float32Array, q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.round(q * (sorted.length - 1))))];
}

function sampled(coordinates: Float32Array, axis: 0 | 1): Float32Array {
  const n = coordinates.length / 2;
  const step = Math.max(1, Math.floor(n / SAMPLE));
  const values = new Float32Array(Math.ceil(n / step));
  let kept = 0;
  for (let i = 0; i < n; i += step) {
    const value = coordinates[2 * i + axis];
    if (Number.isFinite(value)) values[kept++] = value;
  }
  return values.subarray(0, kept).sort();
}

/** The frame of one layout by itself: quantiles of a sample, so about 1 ms for any number of points. */
export function robustFrame(coordinates: Float32Array): Frame {
  const xs = sampled(coordinates, 0);
  const ys = sampled(coordinates, 1);
  if (xs.length === 0 || ys.length === 0) return { x: 0, y: 0, radius: 1 };
  const tail = (1 - INSIDE) / 2;
  const [left, right] = [quantile(xs, tail), quantile(xs, 1 - tail)];
  const [low, high] = [quantile(ys, tail), quantile(ys, 1 - tail)];
  const radius = Math.max(right - left, high - low) / 2;
  return { x: (left + right) / 2, y: (low + high) / 2, radius: radius > 0 ? radius : 1 };
}

/** The frame to use for a new layout, given the one in use. */
export function followedFrame(used: Frame | null, own: Frame): Frame {
  if (used === null) return own;
  const slow = used.radius * (own.radius / used.radius) ** FOLLOW;
  // Not so small that points leave the view, nor so large that they are lost in it.
  const radius = Math.min(Math.max(slow, own.radius / ROOM), own.radius * 2);
  return { x: own.x, y: own.y, radius };
}

/** Coordinates within the square, as a new array. */
export function normalised(coordinates: Float32Array, frame: Frame): Float32Array {
  const result = new Float32Array(coordinates.length);
  const scale = FILL / frame.radius;
  for (let i = 0; i < coordinates.length; i += 2) {
    result[i] = (coordinates[i] - frame.x) * scale;
    result[i + 1] = (coordinates[i + 1] - frame.y) * scale;
  }
  return result;
}
