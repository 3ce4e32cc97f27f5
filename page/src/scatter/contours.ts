/** Lines around where points are dense, where there are too many points to tell by eye. */

import { contours } from "../logic/contours";
import type { Model } from "../model";
import { cssColour } from "../theme";
import { Lines } from "./lines";
import type { Plot } from "./plot";

/** Above so many points. */
export const MANY = 20_000;
/** While points move. */
const RENEWED_MS = 250;

export interface Contours {
  /** Ends of the pieces of all lines; none where there are few points. */
  pieces: () => Float32Array;
}

export function keepContours(model: Model, plot: Plot, positions: Float32Array): Contours {
  let pieces: Float32Array = new Float32Array(0);
  if (model.lesson.n_rows <= MANY) return { pieces: () => pieces };
  const lines = new Lines(plot.regl);
  let ends = new Uint32Array(0);
  let drawnAt = Number.NEGATIVE_INFINITY;
  let stale = true;

  const renew = (time: number): void => {
    pieces = contours(positions);
    if (ends.length !== pieces.length / 2)
      ends = Uint32Array.from({ length: pieces.length / 2 }, (_, i) => i);
    drawnAt = time;
    stale = false;
  };

  plot.onMoved(() => {
    stale = true;
  });
  plot.onFrame((time) => {
    if (!stale || time - drawnAt < RENEWED_MS) return false;
    renew(time);
    return true;
  });
  model.theme.listen(plot.redraw);
  plot.drawOver((map) => {
    lines.stroke(ends, pieces, map, { colour: cssColour("text"), width: 1, opacity: 0.55 });
  });
  return { pieces: () => pieces };
}
