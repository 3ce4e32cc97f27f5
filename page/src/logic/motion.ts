/** Points on their way from one layout to another. */

export interface Motion {
  from: Float32Array;
  to: Float32Array;
  /** Where the points are drawn now. */
  now: Float32Array;
  startedAt: number;
  duration: number;
  moving: boolean;
  /** How much of the way is gone at a part of the time. */
  ease: (t: number) => number;
}

export const DURATION_MS = 400;
/** The first frame of points at rest already shows a step of the way. */
const HEAD_START_MS = 16;

export function easeInOutCubic(t: number): number {
  return t < 0.5 ? 4 * t ** 3 : 1 - (2 - 2 * t) ** 3 / 2;
}

/** For points that are under way already, so that they need not stop in between. */
export function easeOutCubic(t: number): number {
  return 1 - (1 - t) ** 3;
}

/** out = (1 − t) a + t b. */
export function mix(out: Float32Array, a: Float32Array, b: Float32Array, t: number): void {
  for (let i = 0; i < out.length; i++) out[i] = a[i] + (b[i] - a[i]) * t;
}

export function resting(positions: Float32Array): Motion {
  return {
    from: positions.slice(),
    to: positions,
    now: positions.slice(),
    startedAt: 0,
    duration: 0,
    moving: false,
    ease: easeInOutCubic,
  };
}

/** Set out for other places, from wherever the points are; duration 0 goes there in the next frame. */
export function headFor(
  motion: Motion,
  to: Float32Array,
  time: number,
  duration = DURATION_MS,
): void {
  motion.from.set(motion.now);
  motion.to = to;
  motion.startedAt = motion.moving ? time : time - Math.min(HEAD_START_MS, duration);
  motion.duration = duration;
  motion.ease = motion.moving ? easeOutCubic : easeInOutCubic;
  motion.moving = true;
}

/** Bring `now` up to a time; true if anything moved. */
export function advance(motion: Motion, time: number): boolean {
  if (!motion.moving) return false;
  const elapsed = time - motion.startedAt;
  if (elapsed >= motion.duration) {
    motion.now.set(motion.to);
    motion.moving = false;
  } else {
    mix(motion.now, motion.from, motion.to, motion.ease(Math.max(0, elapsed / motion.duration)));
  }
  return true;
}
