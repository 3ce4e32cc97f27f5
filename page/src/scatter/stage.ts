/** The scatter on the page, put together. */

import { toScreen } from "../logic/screen";
import type { Model } from "../model";
import { byId } from "../view/dom";
import { type Contours, keepContours } from "./contours";
import { listenToLasso } from "./lasso";
import { drawQuestion } from "./links";
import { keepNames } from "./names";
import { createPlot, type Plot } from "./plot";
import { keepColours } from "./point_colours";
import { keepPositions } from "./positions";
import { keepRings } from "./rings";

export interface Stage {
  plot: Plot;
  /** x0 y0 x1 y1 … as they are drawn. */
  positions: Float32Array;
  shownVersion: () => number | null;
  isArranged: () => boolean;
  contours: Contours;
  /** Where a point is on the screen, from the corner of the window. */
  pointAt: (row: number) => { x: number; y: number };
}

export async function createStage(model: Model): Promise<Stage> {
  const canvas = byId<HTMLCanvasElement>("points");
  const plot = await createPlot(canvas, model.lesson.n_rows);
  const { now: positions, shownVersion, isArranged } = keepPositions(model, plot);
  keepColours(model, plot);
  drawQuestion(model, plot, positions);
  const contours = keepContours(model, plot, positions);
  keepNames(model, plot, positions);
  keepRings(model, plot, positions);
  listenToLasso(model, plot, positions);
  plot.fit();

  const pointAt = (row: number): { x: number; y: number } => {
    const corner = canvas.getBoundingClientRect();
    const [x, y] = toScreen(plot.map(), positions[2 * row], positions[2 * row + 1]);
    return { x: corner.left + x, y: corner.top + y };
  };
  return { plot, positions, shownVersion, isArranged, contours, pointAt };
}
