/** Colours of the points: by what they are coloured by, or by what is selected. */

import { colourIndices, FOUND, paletteOf, SELECTED, UNKNOWN } from "../logic/colours";
import type { Matches } from "../logic/finding";
import type { Model } from "../model";
import { cssColour } from "../theme";
import { DIMMED, NORMAL, type Plot, STRONG } from "./plot";

/** So few points that were found are drawn larger. */
const FEW = 300;

/** What is filtered out has no colour; groups that are drawn by hand keep theirs. */
function greyOut(matches: Matches | null, indices: Uint8Array, emphasis: Uint8Array): void {
  if (matches === null) return;
  const { mask, n } = matches;
  for (let i = 0; i < mask.length; i++) {
    if (emphasis[i] === STRONG) continue;
    if (mask[i] === 0) {
      indices[i] = UNKNOWN;
      emphasis[i] = DIMMED;
    } else if (emphasis[i] === NORMAL) {
      if (indices[i] === UNKNOWN) indices[i] = FOUND;
      if (n <= FEW) emphasis[i] = STRONG;
    }
  }
}

export function keepColours(model: Model, plot: Plot): void {
  const n = model.lesson.n_rows;
  const theme = (): void => {
    const kind = model.colouring.value?.kind ?? null;
    plot.setColours(paletteOf(model.theme.value, kind), cssColour("accent"));
  };

  const points = (): void => {
    const colouring = model.colouring.value;
    const indices = colourIndices(colouring, n);
    const emphasis = new Uint8Array(n);
    const selection = model.selection.value;
    const category = model.category.value;
    if (selection.length > 0) {
      emphasis.fill(DIMMED);
      for (const row of selection) {
        if (indices[row] === UNKNOWN) indices[row] = SELECTED;
        emphasis[row] = STRONG;
      }
    } else if (category !== null && colouring !== null) {
      for (let i = 0; i < n; i++) emphasis[i] = colouring.values[i] === category ? STRONG : DIMMED;
    } else emphasis.fill(NORMAL);
    greyOut(model.matches.value, indices, emphasis);
    plot.writeColours(indices, emphasis);
  };

  model.theme.listen(() => {
    theme();
    points();
  });
  model.colouring.listen((colouring, before) => {
    if (colouring?.kind !== before?.kind) theme();
    points();
  });
  model.selection.listen(points);
  model.category.listen(points);
  model.matches.listen(points);
  theme();
  points();
}
