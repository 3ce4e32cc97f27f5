/** An outline drawn around points selects them: of those that match the filter, if there is one. */

import { pointsInside } from "../logic/picking";
import { counted } from "../logic/words";
import type { Model } from "../model";
import { announce } from "../notices";
import type { Plot } from "./plot";

export function listenToLasso(model: Model, plot: Plot, positions: Float32Array): void {
  model.lassoMode.show((on) => plot.setLassoMode(on));
  plot.onLasso((outline) => {
    const mask = model.matches.value?.mask;
    const inside = pointsInside(positions, outline);
    const rows = mask === undefined ? inside : inside.filter((row) => mask[row] === 1);
    const what = inside.length > 0 ? "points that match the filter" : "points";
    if (rows.length === 0) return announce(`There are no ${what} within this outline.`);
    model.selection.set(rows);
    announce(`${counted(rows.length, "point")} selected.`);
  });
}
