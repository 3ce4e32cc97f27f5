/** The two groups drawn with the lasso, and what to say of them. */

import { answerGroups } from "../actions";
import { counted } from "../logic/words";
import { groupsReady, type Model, NO_GROUPS } from "../model";
import { showAll } from "../signal";
import { byId, h, key, replace } from "./dom";

export function showGroups(model: Model): void {
  const bar = byId("groups");
  const guide = h("p", { class: "groups-guide" });
  const sizeA = h("p", { class: "group a", testid: "group-a" });
  const sizeB = h("p", { class: "group b", testid: "group-b" });
  const say = (label: string, letter: string, same: boolean): HTMLElement =>
    h(
      "button",
      {
        type: "button",
        class: "choice",
        testid: `groups-${label.toLowerCase()}`,
        "aria-keyshortcuts": letter,
        on: { click: (event) => void answerGroups(model, same, event.timeStamp) },
      },
      label,
      key(letter),
    );
  const answers = [say("Same", "s", true), say("Different", "d", false)];
  const alone = h("button", {
    type: "button",
    testid: "group-all-same",
    text: "All of A are the same",
    on: { click: (event) => void answerGroups(model, true, event.timeStamp) },
  });
  const clear = h(
    "button",
    {
      type: "button",
      class: "quiet",
      testid: "groups-clear",
      on: { click: () => clearGroups(model) },
    },
    "Clear",
    key("Esc"),
  );
  replace(bar, guide, sizeA, sizeB, ...answers, alone, clear);

  showAll([model.groups, model.lassoMode], () => {
    const { a, b } = model.groups.value;
    bar.hidden = a.length + b.length === 0 && !model.lassoMode.value;
    sizeA.hidden = a.length === 0;
    sizeB.hidden = b.length === 0;
    sizeA.textContent = `A: ${counted(a.length, "point")}`;
    sizeB.textContent = `B: ${counted(b.length, "point")}`;
    const ready = groupsReady(model.groups.value);
    guide.hidden = ready;
    clear.firstChild?.replaceWith(a.length + b.length === 0 ? "Done" : "Clear");
    guide.textContent =
      a.length === 0 ? "Draw around the first group, A." : "Now draw around the second group, B.";
    for (const button of answers) button.hidden = !ready;
    alone.hidden = ready || a.length < 2;
  });
}

export function clearGroups(model: Model): void {
  model.groups.set(NO_GROUPS);
  model.lassoMode.set(false);
}
