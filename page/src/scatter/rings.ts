/**
 * Rings around points: of the question, the selected one, the chosen suspect, the one pointed at.
 *
 * They are elements, not part of the WebGL frame: pointing here and there, or the next question, is not to draw all
 * points again, least of all just before they move.
 */

import { toScreen } from "../logic/screen";
import { asked, asksAnew, chosenSuspect, type Model, pairAsked } from "../model";
import { showAll } from "../signal";
import { byId, h } from "../view/dom";
import type { Plot } from "./plot";

interface Ring {
  element: HTMLElement;
  row: () => number | null | undefined;
}

function ring(kind: string, row: Ring["row"], label = ""): Ring {
  const element = h("span", { class: `ring ${kind}`, "aria-hidden": "true", hidden: true });
  element.append(h("span", { text: label }));
  return { element, row };
}

export function keepRings(model: Model, plot: Plot, positions: Float32Array): void {
  const pair = () => pairAsked(model);
  const suspect = () => (model.panel.value === "said" ? chosenSuspect(model) : undefined);
  const rings = [
    ring("suspect", () => suspect()?.left),
    ring("suspect", () => suspect()?.right),
    ring("looked", () => model.looked.value?.left),
    ring("looked", () => model.looked.value?.right),
    ring("asked one", () => pair()?.left, "1"),
    ring("asked", () => pair()?.right, "2"),
    // Beside groups, which have numbers of their own, one record alone is asked about.
    ring("asked", () => (pair() === null ? asked(model)?.left : null), "?"),
    ring("selected", () => model.selected.value),
    ring("hovered", () => model.hovered.value),
  ];
  byId("stage").append(...rings.map(({ element }) => element));

  const place = (): void => {
    const map = plot.map();
    for (const { element, row } of rings) {
      const at = row() ?? null;
      element.hidden = at === null;
      if (at === null) continue;
      const [x, y] = toScreen(map, positions[2 * at], positions[2 * at + 1]);
      element.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
    }
  };
  const { selected, hovered, suspect: chosen, report, looked } = model;
  showAll([...asksAnew(model), selected, hovered, chosen, report, looked], place);
  plot.onDrawn(place);
}
