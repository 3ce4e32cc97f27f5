/**
 * The WebGL scatter: regl-scatterplot draws points, moves the camera and follows the lasso; where the points are is
 * ours to say, on every frame.
 *
 * Its own draw() takes an array for every point and builds an index of them each time, too slow for frames of an
 * animation. It keeps the points in one float texture (x, y, colour, emphasis); we take hold of that texture when it
 * is made and write into it from typed arrays. Finding points is then ours as well, see logic/picking.
 */

import createScatterplot from "regl-scatterplot";
import { UNKNOWN } from "../logic/colours";
import type { ScreenMap } from "../logic/screen";
import { screenMap } from "../logic/screen";
import { afterPause, underWay } from "../settled";
import { createDirectRenderer, type Extras, type Renderer } from "./renderer";

interface FloatTexture {
  subimage(data: { data: Float32Array; width: number; height: number; type: "float" }): void;
}

interface TextureOptions {
  data?: unknown;
  type?: string;
  shape?: number[];
}

export interface Plot {
  regl: Renderer["regl"];
  /** Call before each frame is drawn; return true if points moved. */
  onFrame: (step: (time: number) => boolean) => void;
  onDrawn: (drawn: () => void) => void;
  /** Whenever points have other places. */
  onMoved: (moved: () => void) => void;
  /** Draw something more in each frame, under or over the points. */
  drawUnder: (draw: (map: ScreenMap) => void) => void;
  drawOver: (draw: (map: ScreenMap) => void) => void;
  onLasso: (finished: (outline: number[]) => void) => void;
  writePositions: (positions: Float32Array) => void;
  writeColours: (indices: Uint8Array, emphasis: Uint8Array) => void;
  setColours: (palette: string[], lasso: string) => void;
  setLassoMode: (on: boolean) => void;
  map: () => ScreenMap;
  /** Bring the square from −1 to 1 into view. */
  fit: () => void;
  isFitted: () => boolean;
  zoom: (factor: number) => void;
  redraw: () => void;
  /** With the next frame that is drawn anyway, or a little later: not to be in the way of points about to move. */
  redrawSoon: () => void;
}

/** Numbers for emphasis of a point. */
export const NORMAL = 0;
export const DIMMED = 1;
export const STRONG = 2;

const SOON_MS = 120;

/** Out of the library's sight: its own search is never to find a point. */
const FAR_AWAY = 1e6;

/** Ordering more points than this would be felt. */
const MOST_ORDERED = 20_000;

/** Numbers of points, those without a colour and the dimmed ones first, so that they hide no other. */
function dullFirst(indices: Uint8Array, emphasis: Uint8Array): number[] {
  const rank = (i: number): number =>
    Number(indices[i] !== UNKNOWN) + 2 * Number(emphasis[i] !== DIMMED);
  return Array.from(indices.keys()).sort((i, j) => rank(i) - rank(j));
}

/** From here on the view is another one. */
const MOVED = 0.01;

function pointSize(n: number): number {
  return Math.min(8, Math.max(2.5, 20 - 4.2 * Math.log10(n)));
}

function pointOpacity(n: number): number {
  return Math.min(0.9, Math.max(0.45, 1.3 - 0.15 * Math.log10(n)));
}

export function isWebGlThere(): boolean {
  try {
    const gl = document.createElement("canvas").getContext("webgl");
    return gl?.getExtension("OES_texture_float") != null;
  } catch {
    return false;
  }
}

export async function createPlot(canvas: HTMLCanvasElement, n: number): Promise<Plot> {
  const extras: Extras = { under: [], over: [] };
  const renderer = createDirectRenderer(canvas, extras);
  const { regl } = renderer;
  const side = Math.max(2, Math.ceil(Math.sqrt(n)));

  let texture: FloatTexture | undefined;
  const makeTexture = regl.texture.bind(regl) as (options: TextureOptions) => FloatTexture;
  const watched = (options: TextureOptions): FloatTexture => {
    const made = makeTexture(options);
    if (options.type === "float" && options.shape?.[0] === side) texture = made;
    return made;
  };
  Object.assign(regl, { texture: watched });

  const moves: (() => void)[] = [];
  const steps: ((time: number) => boolean)[] = [];
  // Registered before the scatter's own listener, so that a step shows in the same frame.
  renderer.onFrame(() => {
    const time = performance.now();
    for (const step of steps) if (step(time)) scatter.redraw();
  });

  const size = pointSize(n);
  const opacity = pointOpacity(n);
  // Shift draws a lasso in either mode; nothing turns the view. (The types do not know of this option.)
  const keys = { actionKeyMap: { lasso: "shift" } };
  const scatter = createScatterplot({
    ...keys,
    renderer,
    canvas,
    syncEvents: true,
    colorBy: "valueZ",
    sizeBy: "valueW",
    opacityBy: "valueW",
    pointSize: [size, size, size * 1.45],
    opacity: [opacity, opacity * 0.22, 1],
    pointColor: ["#888888", "#888888"],
    lassoLineWidth: 2,
    lassoMinDist: 3,
    deselectOnDblClick: false,
    deselectOnEscape: false,
    spatialIndexUseWorker: false,
  });

  const nowhere = [FAR_AWAY, FAR_AWAY, 0, 0];
  texture = undefined;
  await scatter.draw(new Array<number[]>(n).fill(nowhere), {
    zDataType: "categorical",
    wDataType: "categorical",
  });
  if (texture === undefined) throw new Error("The scatter has no texture to write points to.");
  const points: FloatTexture = texture;

  const data = new Float32Array(side * side * 4).fill(FAR_AWAY);
  const upload = (): void => {
    points.subimage({ data, width: side, height: side, type: "float" });
    scatter.redraw();
  };

  const camera = scatter.get("camera") as { view: Float32Array };
  const map = (): ScreenMap => {
    const { width, height } = canvas.getBoundingClientRect();
    return screenMap(camera.view, width, height);
  };

  let fitted = 1;
  const isFitted = (): boolean => {
    const [x, y] = scatter.get("cameraTarget");
    const near = Math.abs(scatter.get("cameraDistance") / fitted - 1);
    return Math.max(Math.abs(x), Math.abs(y), near) < MOVED;
  };
  const bringIntoView = (): void => {
    fitted = fitDistance();
    void underWay(scatter.zoomToLocation([0, 0], fitted));
  };
  // All that was in view stays there.
  new ResizeObserver(() => isFitted() && bringIntoView()).observe(canvas);

  const fitDistance = (): number => {
    const { width, height } = canvas.getBoundingClientRect();
    return Math.max(1, height / Math.max(1, width));
  };

  return {
    regl,
    onFrame: (step) => steps.push(step),
    onDrawn: (drawn) => {
      scatter.subscribe("drawing", drawn);
    },
    onMoved: (moved) => moves.push(moved),
    drawUnder: (draw) => extras.under.push(() => draw(map())),
    drawOver: (draw) => extras.over.push(() => draw(map())),
    onLasso: (finished) => {
      scatter.subscribe("lassoEnd", ({ coordinates }) => {
        finished((coordinates as unknown as number[][]).flat());
      });
    },
    writePositions: (positions) => {
      for (let i = 0, at = 0; i < positions.length; i += 2, at += 4) {
        data[at] = positions[i];
        data[at + 1] = positions[i + 1];
      }
      upload();
      for (const moved of moves) moved();
    },
    writeColours: (indices, emphasis) => {
      if (n <= MOST_ORDERED)
        void underWay(scatter.set({ pointOrder: dullFirst(indices, emphasis) }));
      for (let i = 0, at = 2; i < indices.length; i++, at += 4) {
        data[at] = indices[i];
        data[at + 1] = emphasis[i];
      }
      upload();
    },
    setColours: (palette, lasso) => {
      void underWay(scatter.set({ pointColor: palette, lassoColor: lasso }));
    },
    setLassoMode: (on) => {
      void underWay(scatter.set({ mouseMode: on ? "lasso" : "panZoom" }));
    },
    map,
    isFitted,
    fit: bringIntoView,
    zoom: (factor) => {
      const target = scatter.get("cameraTarget");
      const distance = scatter.get("cameraDistance");
      void underWay(scatter.zoomToLocation([target[0], target[1]], distance / factor));
    },
    redraw: () => scatter.redraw(),
    redrawSoon: afterPause(() => scatter.redraw(), SOON_MS).start,
  };
}
