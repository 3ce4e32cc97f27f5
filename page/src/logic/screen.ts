/** From places of points to places on the screen, and back: a scale and a shift for each axis. */

export interface ScreenMap {
  scaleX: number;
  scaleY: number;
  shiftX: number;
  shiftY: number;
  width: number;
  height: number;
}

/** By the camera's view matrix (column by column; no rotation) and the size of the canvas in CSS pixels. */
export function screenMap(view: ArrayLike<number>, width: number, height: number): ScreenMap {
  const half = height / 2;
  return {
    scaleX: view[0] * half,
    scaleY: -view[5] * half,
    shiftX: width / 2 + view[12] * half,
    shiftY: half - view[13] * half,
    width,
    height,
  };
}

export function toScreen(map: ScreenMap, x: number, y: number): [number, number] {
  return [map.scaleX * x + map.shiftX, map.scaleY * y + map.shiftY];
}

export function fromScreen(map: ScreenMap, x: number, y: number): [number, number] {
  return [(x - map.shiftX) / map.scaleX, (y - map.shiftY) / map.scaleY];
}
