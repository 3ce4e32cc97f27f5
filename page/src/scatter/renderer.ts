/**
 * Draws straight to the canvas on the page.
 *
 * The renderer that comes with regl-scatterplot draws to a float buffer, from there to a canvas of its own, and from
 * there to the canvas on the page: three times all pixels, for plots that share a context and for very faint points.
 * We have one plot, and need each frame soon.
 */

import { createRegl, type createRenderer } from "regl-scatterplot";

export type Renderer = ReturnType<typeof createRenderer>;

const EMPTY = { color: [0, 0, 0, 0] as [number, number, number, number], depth: 1 };

/** What else is drawn in each frame, under and over the points. */
export interface Extras {
  under: (() => void)[];
  over: (() => void)[];
}

export function createDirectRenderer(canvas: HTMLCanvasElement, extras: Extras): Renderer {
  // A canvas has one context, made by whoever asks first. Points have smooth edges by their shader.
  canvas.getContext("webgl", { antialias: false, depth: false });
  const regl = createRegl(canvas);
  const listeners = new Set<() => void>();
  regl.frame(() => {
    for (const listener of listeners) listener();
  });
  const renderer = {
    canvas,
    regl,
    gamma: 1,
    isSupported: true,
    isDestroyed: false,
    render: (draw: () => void) => {
      regl.clear(EMPTY);
      for (const extra of extras.under) extra();
      draw();
      for (const extra of extras.over) extra();
    },
    resize: () => undefined,
    onFrame: (listener: () => void) => {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    refresh: () => regl.poll(),
    destroy: () => regl.destroy(),
  };
  return renderer as unknown as Renderer;
}
