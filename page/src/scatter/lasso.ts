/** Outlines drawn around points make groups of them: of those that match the filter, if there is one. */

import { addToGroup } from "../actions";
import { pointsInside } from "../logic/picking";
import type { Model } from "../model";
import { announce } from "../notices";
import type { Plot } from "./plot";

/** The first outline is group A, the next group B. */
export function listenToLasso(model: Model, plot: Plot, positions: Float32Array): void {
  model.lassoMode.show((on) => plot.setLassoMode(on));
  plot.onLasso((outline) => {
    const mask = model.matches.value?.mask;
    const inside = pointsInside(positions, outline);
    const rows = mask === undefined ? inside : inside.filter((row) => mask[row] === 1);
    if (rows.length === 0) {
      const what = inside.length > 0 ? "points that match the filter" : "points";
      return announce(`There are no ${what} within this outline.`);
    }
    const { a, b } = model.groups.value;
    if (a.length === 0) return addToGroup(model, "a", rows);
    if (b.length > 0) model.groups.set({ a, b: [] });
    addToGroup(model, "b", rows);
  });
}
