/** The scatter on the page: which layout is drawn, in which colours, with which lines and marks. */

import { addToGroup } from "../actions";
import { colourIndices, GROUP_A, GROUP_B, paletteOf } from "../logic/colours";
import { type Frame, followedFrame, normalised, robustFrame } from "../logic/frame";
import { lineLook, thinnedLinks } from "../logic/links";
import { advance, DURATION_MS, headFor, type Motion, mix, resting } from "../logic/motion";
import { pointsInside } from "../logic/picking";
import { type ScreenMap, toScreen } from "../logic/screen";
import type { Layout } from "../logic/types";
import { asked, type Model } from "../model";
import { announce } from "../notices";
import { cssColour } from "../theme";
import { byId } from "../view/dom";
import { Lines } from "./lines";
import { createPlot, DIMMED, NORMAL, type Plot, STRONG } from "./plot";
import { keepRings } from "./rings";

const REDUCED_MOTION = window.matchMedia("(prefers-reduced-motion: reduce)");
const NO_LINKS = new Uint32Array(0);
/** So many points leave no room to see lines between them: lines are then drawn above. */
const DENSE = 5000;

export interface Stage {
  plot: Plot;
  positions: () => Float32Array;
  shownVersion: () => number | null;
  /** Where a point is on the screen, from the corner of the window. */
  pointAt: (row: number) => { x: number; y: number };
}

export async function createStage(model: Model): Promise<Stage> {
  const n = model.lesson.n_rows;
  const canvas = byId<HTMLCanvasElement>("points");
  const plot = await createPlot(canvas, n);

  const motion = keepPositions(model, plot);
  keepColours(model, plot, n);
  drawLines(model, plot, () => motion.state().now);
  drawQuestion(model, plot, () => motion.state().now);
  keepRings(model, plot, () => motion.state().now);
  keepLasso(model, plot, () => motion.state().now);
  plot.fit();

  return {
    plot,
    positions: () => motion.state().now,
    shownVersion: motion.shownVersion,
    pointAt: (row) => {
      const positions = motion.state().now;
      const corner = canvas.getBoundingClientRect();
      const [x, y] = toScreen(plot.map(), positions[2 * row], positions[2 * row + 1]);
      return { x: corner.left + x, y: corner.top + y };
    },
  };
}

interface KeptPositions {
  state: () => Motion;
  shownVersion: () => number | null;
}

function keepPositions(model: Model, plot: Plot): KeptPositions {
  const n = model.lesson.n_rows;
  const motion = resting(new Float32Array(2 * n));
  let euclidean: Float32Array | null = null;
  let learned: Float32Array | null = null;
  let frame: Frame | null = null;
  let started = false;
  let version: number | null = null;
  let waitsForFrame = false;

  /** Where the points belong, by the layouts there are and the slider. */
  const goal = (): Float32Array | null => {
    if (euclidean === null || learned === null) return learned ?? euclidean;
    const places = new Float32Array(2 * n);
    mix(places, euclidean, learned, model.blend.value);
    return places;
  };

  const setOut = (duration: number): void => {
    const places = goal();
    if (places === null) return;
    const smooth = started && !REDUCED_MOTION.matches;
    headFor(motion, places, performance.now(), smooth ? duration : 0);
    started = true;
  };

  const takeEuclidean = (layout: Layout | null): void => {
    if (layout === null || layout.coordinates.length !== 2 * n) return;
    euclidean = normalised(layout.coordinates, robustFrame(layout.coordinates));
    setOut(DURATION_MS);
  };

  const takeLearned = (layout: Layout | null): void => {
    if (layout === null || layout.coordinates.length !== 2 * n) return;
    model.trace.layoutArrived(layout.version, performance.now());
    frame = followedFrame(frame, robustFrame(layout.coordinates));
    learned = normalised(layout.coordinates, frame);
    version = layout.version;
    waitsForFrame = true;
    setOut(DURATION_MS);
  };

  model.euclidean.show(takeEuclidean);
  model.learned.show(takeLearned);
  model.blend.listen(() => setOut(0));

  plot.onFrame((time) => {
    const moved = advance(motion, time);
    if (moved) plot.writePositions(motion.now);
    return moved;
  });

  // The next task comes after this frame was handed over for display.
  const channel = new MessageChannel();
  channel.port1.onmessage = ({ data }) => model.trace.frameDrawn(data, performance.now());
  plot.onDrawn(() => {
    if (!waitsForFrame || version === null) return;
    waitsForFrame = false;
    channel.port2.postMessage(version);
  });

  return { state: () => motion, shownVersion: () => version };
}

function keepColours(model: Model, plot: Plot, n: number): void {
  const theme = (): void => {
    const kind = model.colouring.value?.kind ?? null;
    plot.setColours(paletteOf(model.theme.value, kind), cssColour("stage"), cssColour("accent"));
  };

  const points = (): void => {
    const colouring = model.colouring.value;
    const indices = colourIndices(colouring, n);
    const emphasis = new Uint8Array(n);
    const { a, b } = model.groups.value;
    const category = model.category.value;
    if (a.length + b.length > 0) {
      emphasis.fill(DIMMED);
      for (const row of a) indices[row] = GROUP_A;
      for (const row of b) indices[row] = GROUP_B;
      for (const row of a) emphasis[row] = STRONG;
      for (const row of b) emphasis[row] = STRONG;
    } else if (category !== null && colouring !== null) {
      for (let i = 0; i < n; i++) {
        emphasis[i] = colouring.values[i] === category ? STRONG : DIMMED;
      }
    } else emphasis.fill(NORMAL);
    plot.writeColours(indices, emphasis);
  };

  model.theme.listen(theme);
  model.colouring.listen((colouring, before) => {
    if (colouring?.kind !== before?.kind) theme();
    points();
  });
  model.groups.listen(points);
  model.category.listen(points);
  theme();
  points();
}

function drawLines(model: Model, plot: Plot, positions: () => Float32Array): void {
  const lines = new Lines(plot.regl);
  let must: Uint32Array = NO_LINKS;
  let cannot: Uint32Array = NO_LINKS;
  model.known.show((known) => {
    must = thinnedLinks(known?.must_link ?? []);
    cannot = thinnedLinks(known?.cannot_link ?? []);
    plot.redrawSoon();
  });
  model.showLinks.listen(plot.redraw);
  const draw = model.lesson.n_rows > DENSE ? plot.drawOver : plot.drawUnder;
  draw((map: ScreenMap) => {
    if (!model.showLinks.value) return;
    const look = lineLook((must.length + cannot.length) / 2);
    lines.stroke(cannot, positions(), map, {
      colour: cssColour("cannot-link"),
      dash: [6, 4],
      ...look,
    });
    lines.stroke(must, positions(), map, { colour: cssColour("must-link"), ...look });
  });
}

/** A dotted line between the two points of the question. */
function drawQuestion(model: Model, plot: Plot, positions: () => Float32Array): void {
  const lines = new Lines(plot.regl);
  model.state.listen(plot.redrawSoon);
  model.askedAgain.listen(plot.redraw);
  model.theme.listen(plot.redraw);
  plot.drawOver((map) => {
    const question = asked(model);
    if (question === null) return;
    lines.stroke(Uint32Array.of(question.left, question.right), positions(), map, {
      colour: cssColour("accent"),
      dash: [3, 4],
      width: 1.8,
      opacity: 1,
    });
  });
}

/** The first outline is group A, the next group B. */
function keepLasso(model: Model, plot: Plot, positions: () => Float32Array): void {
  model.lassoMode.show((on) => plot.setLassoMode(on));
  plot.onLasso((outline) => {
    const rows = pointsInside(positions(), outline);
    if (rows.length === 0) return announce("There are no points within this outline.");
    const { a, b } = model.groups.value;
    if (a.length === 0) return addToGroup(model, "a", rows);
    if (b.length > 0) model.groups.set({ a, b: [] });
    addToGroup(model, "b", rows);
  });
}
