/** The slider between the Euclidean and the learned layout. */

import { percent } from "../logic/words";
import type { Model } from "../model";
import { byId, h, replace } from "./dom";

export function showBlend(model: Model): void {
  const slider = h("input", {
    id: "blend-slider",
    type: "range",
    min: "0",
    max: "100",
    step: "1",
    value: "100",
    "aria-label": "Between the Euclidean and the learned layout",
    testid: "blend",
  });
  slider.addEventListener("input", () => model.blend.set(Number(slider.value) / 100));
  const end = (label: string, value: number): HTMLElement =>
    h("button", {
      type: "button",
      class: "quiet small",
      text: label,
      testid: `blend-${value}`,
      on: { click: () => model.blend.set(value) },
    });
  model.blend.show((value) => {
    slider.value = String(Math.round(100 * value));
    slider.setAttribute("aria-valuetext", words(value));
  });
  replace(byId("blend"), end("Euclidean", 0), slider, end("Learned", 1));
}

function words(value: number): string {
  if (value === 0) return "Euclidean layout";
  if (value === 1) return "Learned layout";
  return `${percent(value)} of the way to the learned layout`;
}
