/** Pointing at points with the mouse and stepping through them with the keyboard. */

import { type Direction, nearestPoint, nextPoint } from "../logic/picking";
import { fromScreen } from "../logic/screen";
import type { Model } from "../model";
import { announce } from "../notices";
import { byId } from "../view/dom";
import { recordSentence } from "../view/record";
import type { Stage } from "./stage";

const REACH_PX = 14;
const CLICK_PX = 4;

interface Place {
  x: number;
  y: number;
}

const ARROWS: Record<string, Direction> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
};

export function listenToMouse(model: Model, stage: Stage): void {
  const canvas = byId<HTMLCanvasElement>("points");
  let mouse: Place | null = null;
  let pressed: Place | null = null;
  let changed = false;

  const under = (x: number, y: number): number | null => {
    const map = stage.plot.map();
    const [px, py] = fromScreen(map, x, y);
    const row = nearestPoint(stage.positions, px, py, REACH_PX / map.scaleX);
    return row < 0 ? null : row;
  };

  /** Pointer events have fractions of pixels, which tell close points apart. */
  const placeOf = (event: PointerEvent): Place => {
    const corner = canvas.getBoundingClientRect();
    return { x: event.clientX - corner.left, y: event.clientY - corner.top };
  };

  const isClick = (start: Place, { x, y }: Place): boolean =>
    Math.hypot(x - start.x, y - start.y) <= CLICK_PX;

  const select = (row: number | null): void => {
    model.selected.set(row);
    // Also if it was selected before and another panel is open.
    if (row !== null) model.panel.set("point");
  };

  canvas.addEventListener("pointermove", (event) => {
    const place = placeOf(event);
    mouse = event.buttons === 0 ? place : null;
    changed = true;
    // Whoever drags does not click, also if the way ends where it began.
    if (pressed !== null && !isClick(pressed, place)) pressed = null;
  });
  canvas.addEventListener("pointerleave", () => {
    mouse = null;
    changed = true;
  });
  canvas.addEventListener("pointerdown", (event) => {
    pressed = event.button === 0 && !event.shiftKey ? placeOf(event) : null;
  });
  canvas.addEventListener("pointerup", (event) => {
    if (pressed === null) return;
    const place = placeOf(event);
    if (isClick(pressed, place)) select(under(place.x, place.y));
    pressed = null;
  });
  // The library would add a style sheet of its own on a double click, which the page's policy forbids.
  byId("stage").addEventListener(
    "dblclick",
    (event) => {
      if (event.target !== canvas) return;
      event.stopPropagation();
      stage.plot.fit();
    },
    { capture: true },
  );
  // Once a frame is enough, however many events there are.
  stage.plot.onFrame(() => {
    if (!changed) return false;
    changed = false;
    model.hovered.set(mouse && under(mouse.x, mouse.y));
    return false;
  });
}

export function listenToArrows(model: Model, stage: Stage): void {
  const region = byId("stage");

  const centre = (): number => {
    const map = stage.plot.map();
    const [x, y] = fromScreen(map, map.width / 2, map.height / 2);
    return nearestPoint(stage.positions, x, y);
  };

  const showPoint = (row: number): void => {
    const { x, y } = stage.pointAt(row);
    const box = region.getBoundingClientRect();
    if (x < box.left || x > box.right || y < box.top || y > box.bottom) stage.plot.fit();
    model.hovered.set(row);
    void model.records.get(row).then(
      (record) => announce(recordSentence(record)),
      () => announce(`Row ${row}.`),
    );
  };

  region.addEventListener("keydown", (event) => {
    if (event.target !== region || event.ctrlKey || event.metaKey || event.altKey) return;
    const direction = ARROWS[event.key];
    if (direction !== undefined) {
      const start = model.hovered.value ?? model.selected.value;
      const row = start === null ? centre() : nextPoint(stage.positions, start, direction);
      if (row >= 0) showPoint(row);
      else announce("There is no point further on.");
    } else if (event.key === "Enter" || event.key === " ") {
      if (model.hovered.value !== null) model.selected.set(model.hovered.value);
    } else if (event.key === "+" || event.key === "=") stage.plot.zoom(1.25);
    else if (event.key === "-") stage.plot.zoom(0.8);
    else return;
    event.preventDefault();
  });
}
