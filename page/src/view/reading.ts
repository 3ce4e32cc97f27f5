/** The card in the whole width of the window: for long texts and large pictures. */

import type { Model } from "../model";
import { announce } from "../notices";
import { remember, remembered } from "../storage";
import { byId, h, key } from "./dom";

export function toggleReading(model: Model): void {
  model.reading.set(!model.reading.value);
  remember("reading", model.reading.value ? "on" : "off");
  announce(model.reading.value ? "The card has the whole width." : "The map is back.");
}

/** Turns it on and off; as it was when the page was left. */
export function readingButton(model: Model): HTMLElement {
  const button = h(
    "button",
    {
      type: "button",
      class: "quiet small reading-button",
      testid: "reading",
      "aria-keyshortcuts": "x",
      title: "The card in the whole width of the window",
      on: { click: () => toggleReading(model) },
    },
    "Full width",
    key("x"),
  );
  model.reading.set(remembered("reading") === "on");
  model.reading.show((on) => {
    button.setAttribute("aria-pressed", String(on));
    byId("studio").classList.toggle("reading", on);
  });
  return button;
}
