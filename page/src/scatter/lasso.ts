/** Outlines drawn around points make groups of them. */

import { addToGroup } from "../actions";
import { pointsInside } from "../logic/picking";
import type { Model } from "../model";
import { announce } from "../notices";
import type { Plot } from "./plot";

/** The first outline is group A, the next group B. */
export function listenToLasso(model: Model, plot: Plot, positions: Float32Array): void {
  model.lassoMode.show((on) => plot.setLassoMode(on));
  plot.onLasso((outline) => {
    const rows = pointsInside(positions, outline);
    if (rows.length === 0) return announce("There are no points within this outline.");
    const { a, b } = model.groups.value;
    if (a.length === 0) return addToGroup(model, "a", rows);
    if (b.length > 0) model.groups.set({ a, b: [] });
    addToGroup(model, "b", rows);
  });
}
