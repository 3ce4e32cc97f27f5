/** Where the points are: on the way to the newest layout, from wherever they were. */

import { type Frame, followedFrame, normalised, robustFrame } from "../logic/frame";
import { advance, DURATION_MS, headFor, resting } from "../logic/motion";
import type { Layout } from "../logic/types";
import { type MapChoice, type Model, shownLayout } from "../model";
import { begin, note } from "../settled";
import { showAll } from "../signal";
import type { Plot } from "./plot";

const REDUCED_MOTION = window.matchMedia("(prefers-reduced-motion: reduce)");

export interface Positions {
  /** x0 y0 x1 y1 … as they are drawn, always the same array. */
  now: Float32Array;
  shownVersion: () => number | null;
  /** Whether the map that was chosen has come to its end. */
  isArranged: () => boolean;
}

export function keepPositions(model: Model, plot: Plot): Positions {
  const n = model.lesson.n_rows;
  const motion = resting(new Float32Array(2 * n));
  let learned: Float32Array | null = null;
  const frames: Record<MapChoice, Frame | null> = { axes: null, neighbors: null };
  let shown: Layout | null = null;
  let started = false;
  let version: number | null = null;
  let waitsForFrame = false;

  /** Set while points are on their way to where they are drawn at rest. */
  let arrive: (() => void) | null = null;

  const isArranged = (): boolean =>
    shown?.percent === 100 && (model.mapChoice.value === "neighbors") === shown.ofNeighbors;

  const setOut = (duration: number): void => {
    const places = learned;
    if (places === null) return;
    const smooth = started && !REDUCED_MOTION.matches;
    headFor(motion, places, performance.now(), smooth ? duration : 0);
    started = true;
    arrive ??= begin();
  };

  const takeLearned = (): void => {
    const layout = shownLayout(model);
    if (!isArranged()) note("mapVersion", null);
    if (layout === null || layout === shown || layout.coordinates.length !== 2 * n) return;
    shown = layout;
    model.trace.layoutArrived(layout.version, performance.now());
    const kind = layout.ofNeighbors ? "neighbors" : "axes";
    const frame = followedFrame(frames[kind], robustFrame(layout.coordinates));
    frames[kind] = frame;
    learned = normalised(layout.coordinates, frame);
    version = layout.version;
    waitsForFrame = true;
    setOut(DURATION_MS);
  };

  showAll([model.learned, model.neighbors, model.mapChoice], takeLearned);

  plot.onFrame((time) => {
    const moved = advance(motion, time);
    if (moved) plot.writePositions(motion.now);
    return moved;
  });

  // The next task comes after this frame was handed over for display.
  const channel = new MessageChannel();
  channel.port1.onmessage = ({ data }) => model.trace.frameDrawn(data, performance.now());
  plot.onDrawn(() => {
    if (!motion.moving) {
      arrive?.();
      arrive = null;
      if (isArranged()) note("mapVersion", version);
    }
    if (!waitsForFrame || version === null) return;
    waitsForFrame = false;
    channel.port2.postMessage(version);
  });

  return { now: motion.now, shownVersion: () => version, isArranged };
}
