/** Single keys. They never fire while somebody types, nor together with Ctrl, Alt or Cmd. */

import { redo, say, undo, withdrawSuspect } from "./actions";
import { bindingOf } from "./logic/bindings";
import { chosenSuspect, type Model } from "./model";
import { announce } from "./notices";
import { toggleNames } from "./scatter/names";
import type { Stage } from "./scatter/stage";
import { openColumns } from "./view/columns";
import { byId } from "./view/dom";
import { openDuplicates } from "./view/duplicates";
import { focusSearch } from "./view/find";
import { openHelp } from "./view/help";
import { openInfo } from "./view/info";
import { clearSelection } from "./view/selection";
import { closeWhy, toggleWhy } from "./view/why";
import { chooseByKey } from "./which";

/** Keys belong to elements in which text is typed, and to menus while an option is looked up by its letters. */
export function takesText(element: Element | null): boolean {
  if (element === null) return false;
  if (element.closest("[contenteditable]:not([contenteditable=false])")) return true;
  if (element.matches("textarea")) return true;
  if (element.matches("select")) return lookedUp.has(element);
  if (!element.matches("input")) return false;
  return !NOT_TYPED.has(element.getAttribute("type") ?? "text");
}

/** None of the letters is a sign of a number. */
const NOT_TYPED = new Set(["range", "checkbox", "radio", "button", "number"]);

/** Menus that were reached by keys, and in which nothing was chosen since. */
const lookedUp = new WeakSet<Element>();

/** Choosing in a menu gives the keys back to the page: the focus too if it was done by mouse. */
export function giveKeysBack(select: HTMLSelectElement): void {
  let pointed = false;
  select.addEventListener("pointerdown", () => {
    pointed = true;
    lookedUp.delete(select);
  });
  select.addEventListener("keydown", () => {
    pointed = false;
  });
  select.addEventListener("focus", () => {
    if (!pointed) lookedUp.add(select);
  });
  select.addEventListener("change", () => {
    lookedUp.delete(select);
    if (pointed) select.blur();
    pointed = false;
  });
  select.addEventListener("blur", () => {
    pointed = false;
  });
}

function isDigit(name: string): boolean {
  return /^[0-9]$/.test(name);
}

export function listenToKeys(model: Model, stage: Stage | null): void {
  const clear = (): void => {
    if (model.selection.value.length > 0 || model.lassoMode.value) {
      clearSelection(model);
      announce("Nothing is selected.");
    } else if (model.why.value !== null) closeWhy(model);
    else if (model.chosen.value !== null) model.chosen.set(null);
    else if (model.askedAgain.value.length > 0) model.askedAgain.set([]);
    else {
      model.selected.set(null);
      model.hovered.set(null);
    }
  };

  const neighbours = (): void => {
    if (model.hovered.value !== null) model.selected.set(model.hovered.value);
    model.panel.set("point");
    if (model.selected.value === null) announce("Select a point first.");
    else byId("panel").focus();
  };

  // Only what is shown is withdrawn: the first press opens the list if it is not.
  const withdrawShown = (): void => {
    const suspect = chosenSuspect(model);
    if (model.panel.value === "said") void withdrawSuspect(model);
    else {
      model.panel.set("said");
      announce(suspect ? `Press w again to withdraw: ${suspect.said}` : "No answer looks wrong.");
    }
  };

  const act = (name: string, pressedAt: number): void => {
    const actions: Record<string, () => unknown> = {
      s: () => say(model, true, pressedAt),
      d: () => say(model, false, pressedAt),
      u: () => say(model, null, pressedAt),
      z: () => undo(model),
      "shift+z": () => redo(model),
      w: withdrawShown,
      r: () => openDuplicates(model),
      n: neighbours,
      h: () => {
        model.panel.set(model.panel.value === "said" ? "closed" : "said");
        byId("panel").focus();
      },
      g: () => stage && model.lassoMode.set(!model.lassoMode.value),
      t: () => stage && toggleNames(model),
      f: () => stage?.plot.fit(),
      m: () => byId("stage").focus(),
      q: () => byId("question").focus(),
      "/": focusSearch,
      i: () => openInfo(model),
      c: () => openColumns(model),
      y: () => toggleWhy(model),
      "?": openHelp,
      Escape: clear,
    };
    if (isDigit(name)) void chooseByKey(model, Number(name), pressedAt);
    else actions[name]?.();
  };

  document.addEventListener("keydown", (event) => {
    const name = bindingOf(event);
    if (name === null || event.defaultPrevented || takesText(document.activeElement)) return;
    if (document.querySelector("dialog[open]") !== null) return;
    if (isDigit(name) && document.activeElement?.matches("input[type=number]")) return;
    if (name !== "Escape" && !model.shortcuts.value) return;
    act(name, event.timeStamp);
    event.preventDefault();
  });
}
