/** Below the question: what is being saved, or that the server is gone. */

import { gone, type Model } from "../model";
import { showAll } from "../signal";
import { byId, h, replace } from "./dom";

const MOST_LISTED = 5;
export const GONE = "The server does not answer. Nothing can be answered until it is back.";

export function showSaving(model: Model): void {
  const box = byId("saving");
  showAll([model.pending.shown, model.connection], () => {
    const waiting = model.pending.shown.value;
    const lost = gone(model);
    box.hidden = waiting.length === 0 && !lost;
    box.classList.toggle("gone", lost);
    document.body.classList.toggle("server-gone", lost);
    const [first, ...others] = waiting;
    const listed = others.slice(0, MOST_LISTED).map((label) => h("li", { text: label }));
    const rest = others.length - listed.length;
    replace(
      box,
      lost && h("p", { text: GONE, testid: "gone" }),
      first !== undefined && h("p", { text: `Saving… ${first}`, dir: "auto", testid: "saving" }),
      listed.length > 0 && h("p", { class: "hint", text: "After that:" }),
      listed.length > 0 && h("ul", { testid: "waiting-changes" }, ...listed),
      rest > 0 && h("p", { class: "hint", text: `and ${rest} more` }),
    );
  });
}
