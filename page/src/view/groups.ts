/** The two groups drawn with the lasso, and what to say of them. */

import { answerGroups } from "../actions";
import { sayOfSelection } from "../grouping";
import { GROUPS, type Part, partOfGroup } from "../logic/grouping";
import { counted } from "../logic/words";
import { groupsReady, type Model, NO_GROUPS } from "../model";
import { showAll } from "../signal";
import { byId, h, key, replace } from "./dom";
import { openTable } from "./table";

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
  const ofSelection = (what: "one" | "split", text: string): HTMLElement =>
    h("button", {
      type: "button",
      testid: `selection-${what}`,
      text,
      on: { click: () => void sayOfSelection(model, what) },
    });
  const one = ofSelection("one", "These are one group");
  const split = ofSelection("split", "");
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
  const look = h("button", {
    type: "button",
    testid: "groups-table",
    text: "Table",
    title: "These records as a table, and as a file",
    on: {
      click: () => {
        const { a, b } = model.groups.value;
        openTable(model, [...a, ...b], b.length === 0 ? "Group A" : "Groups A and B");
      },
    },
  });
  replace(bar, guide, sizeA, sizeB, ...answers, alone, one, split, look, clear);

  showAll([model.groups, model.lassoMode, model.colouring], () => {
    const { a, b } = model.groups.value;
    bar.hidden = a.length + b.length === 0 && !model.lassoMode.value;
    sizeA.hidden = a.length === 0;
    sizeB.hidden = b.length === 0;
    sizeA.textContent = `A: ${counted(a.length, "point")}`;
    sizeB.textContent = `B: ${counted(b.length, "point")}`;
    const ready = groupsReady(model.groups.value);
    guide.hidden = ready;
    look.hidden = a.length + b.length === 0;
    clear.firstChild?.replaceWith(a.length + b.length === 0 ? "Done" : "Clear");
    for (const button of answers) button.hidden = !ready;
    const { value: colouring } = model.colouring;
    const found = colouring?.key === GROUPS && model.grouping.value !== null && !ready;
    guide.textContent =
      a.length === 0
        ? "Draw around the first group, A."
        : `${found ? "Or" : "Now"} draw around the second group, B.`;
    alone.hidden = found || ready || a.length < 2;
    one.hidden = !found || a.length < 2;
    const part = found && a.length > 0 ? partOfGroup(colouring.values, a) : null;
    split.hidden = part === null;
    if (part !== null) split.textContent = splitLabel(part, colouring?.categories ?? []);
  });
}

function splitLabel({ group, outside }: Part, names: string[]): string {
  const without = outside > 0 ? `, without ${counted(outside, "point")} of others` : "";
  return `Split from the rest of ${names[group]}${without}`;
}

export function clearGroups(model: Model): void {
  model.groups.set(NO_GROUPS);
  model.lassoMode.set(false);
}
