/**
 * Names of groups and categories at their places on the map.
 *
 * They are elements, as rings are. Screen readers find the same names in the legend.
 */

import { groupOf } from "../groups";
import { briefTitle, DUPLICATES, GROUPS } from "../logic/messages";
import { middleOf, placed, type Spot, spotsOf } from "../logic/names";
import { toScreen } from "../logic/screen";
import type { Model } from "../model";
import { afterPause } from "../settled";
import { showAll } from "../signal";
import { remember } from "../storage";
import { byId, h, replace } from "../view/dom";
import { badge } from "../view/legend";
import type { Plot } from "./plot";

/** Places are looked for anew so long after points have come to rest. */
const REST_MS = 150;

interface Name {
  spot: Spot;
  element: HTMLElement;
  width: number;
  height: number;
}

export function keepNames(model: Model, plot: Plot, positions: Float32Array): void {
  const layer = h("div", { class: "map-names", "aria-hidden": "true", testid: "map-names" });
  byId("stage").append(layer);
  let names: Name[] = [];

  const place = (): void => {
    const map = plot.map();
    const boxes = names.map(({ spot, width, height }) => {
      const [x, y] = toScreen(map, ...middleOf(positions, spot.rows));
      return { x, y, width, height };
    });
    placed(boxes, map.width).forEach((corner, i) => {
      const { element } = names[i];
      element.style.visibility = corner === null ? "hidden" : "visible";
      if (corner === null) return;
      element.style.transform = `translate(${corner[0].toFixed(1)}px, ${corner[1].toFixed(1)}px)`;
    });
  };

  const look = (): void => {
    const colouring = model.showNames.value ? model.colouring.value : null;
    const isNamed = colouring?.key !== DUPLICATES;
    names = spotsOf(positions, isNamed ? colouring : null).map((spot) => {
      const group = colouring?.key === GROUPS && groupOf(model, { number: spot.category });
      const told = group
        ? [badge(group.number), h("span", { text: briefTitle(group) })]
        : [spot.name];
      return {
        spot,
        element: h("span", { class: "map-name", dir: "auto", testid: "map-name" }, ...told),
        width: 0,
        height: 0,
      };
    });
    replace(layer, ...names.map(({ element }) => element));
    for (const name of names) {
      name.width = name.element.offsetWidth;
      name.height = name.element.offsetHeight;
    }
    place();
  };

  plot.onMoved(afterPause(look, REST_MS).start);
  plot.onDrawn(() => {
    if (names.length > 0) place();
  });
  showAll([model.colouring, model.showNames], look);
}

/** Turns them on and off; as it was when the page was left. */
export function toggleNames(model: Model): void {
  model.showNames.set(!model.showNames.value);
  remember("names", model.showNames.value ? "on" : "off");
}
