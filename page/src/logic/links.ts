/** Lines between linked points, on the screen. */

import type { ScreenMap } from "./screen";

/**
 * Ends of the lines on the screen, x0 y0 x1 y1 … for each link, without those wholly to one side of the view.
 *
 * Written into `out`, which has room for four numbers a link; gives how many numbers were written.
 */
export function linkEnds(
  out: Float32Array,
  links: Uint32Array,
  positions: Float32Array,
  map: ScreenMap,
): number {
  let at = 0;
  for (let k = 0; k < links.length; k += 2) {
    const i = 2 * links[k];
    const j = 2 * links[k + 1];
    const x0 = map.scaleX * positions[i] + map.shiftX;
    const y0 = map.scaleY * positions[i + 1] + map.shiftY;
    const x1 = map.scaleX * positions[j] + map.shiftX;
    const y1 = map.scaleY * positions[j + 1] + map.shiftY;
    const outside =
      (x0 < 0 && x1 < 0) ||
      (y0 < 0 && y1 < 0) ||
      (x0 > map.width && x1 > map.width) ||
      (y0 > map.height && y1 > map.height);
    if (outside) continue;
    out[at++] = x0;
    out[at++] = y0;
    out[at++] = x1;
    out[at++] = y1;
  }
  return at;
}
