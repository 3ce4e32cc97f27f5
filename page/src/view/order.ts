/** Which of two neighbours is nearer to the selected point: one is marked, then the other. */

import { answerOrder, withdrawOrder } from "../actions";
import { triplesOf } from "../logic/known";
import type { Triplet } from "../logic/types";
import type { Model } from "../model";
import { announce, notifyProblem } from "../notices";
import { showAll } from "../signal";
import { h, replace } from "./dom";
import { recordName } from "./record";

/** Above the neighbours: to say which of two is nearer, instead of same and different. */
export function orderSwitch(model: Model): HTMLElement {
  const button = h("button", {
    type: "button",
    class: "small quiet",
    text: "Which is nearer?",
    testid: "order-switch",
    on: { click: () => model.ordering.set(!model.ordering.value) },
  });
  model.ordering.show((on) => button.setAttribute("aria-pressed", String(on)));
  return button;
}

/** Beside a neighbour: it is nearer, or the one that another is nearer than. */
export function orderButton(model: Model, anchor: number, row: number, name: string): HTMLElement {
  const button = h("button", {
    type: "button",
    class: "small quiet ordered",
    testid: "order",
    "data-row": row,
    "data-name": name,
    on: {
      click: () => {
        const nearer = model.nearer.value;
        if (nearer === null) {
          model.nearer.set(row);
          announce("Nearer than which? Say “Than this” at another neighbour.");
        } else if (nearer === row) model.nearer.set(null);
        else void answerOrder(model, { anchor, closer: nearer, farther: row });
      },
    },
  });
  draw(button, model.nearer.value);
  return button;
}

/** What a button is for, now that this neighbour, or none yet, is the nearer one. */
function draw(button: HTMLElement, nearer: number | null): void {
  const isNearer = button.dataset.row === String(nearer);
  button.textContent = nearer === null || isNearer ? "Nearer" : "Than this";
  button.setAttribute("aria-label", `${button.textContent}: ${button.dataset.name}`);
  button.setAttribute("aria-pressed", String(isNearer));
}

/** Keep the neighbours' buttons as they are meant now; another point ends it. */
export function keepOrder(model: Model, list: HTMLElement): void {
  model.ordering.show((on) => {
    list.classList.toggle("ordering", on);
    model.nearer.set(null);
  });
  model.nearer.listen((nearer) => {
    for (const button of list.querySelectorAll<HTMLElement>(".ordered")) draw(button, nearer);
  });
  model.selected.listen(() => model.ordering.set(false));
}

/** What is said of the selected point already, to be withdrawn. */
export function orderList(model: Model): HTMLElement {
  const list = h("ul", { class: "rows", testid: "orders" });
  const box = h("div", { hidden: true }, h("h3", { text: "Said to be nearer" }), list);

  const item = async (triplet: Triplet): Promise<HTMLElement> => {
    const rows = [triplet.closer, triplet.farther];
    const [near, far] = await Promise.all(rows.map((row) => model.records.get(row)));
    const said = `${recordName(near)} is nearer than ${recordName(far)}.`;
    const withdraw = h("button", {
      type: "button",
      class: "small quiet",
      text: "Withdraw",
      "aria-label": `Withdraw: ${said}`,
      testid: "withdraw-order",
      on: { click: () => void withdrawOrder(model, triplet) },
    });
    return h(
      "li",
      { testid: "order-said" },
      h("span", { text: said, dir: "auto" }),
      h("div", { class: "row-actions" }, withdraw),
    );
  };

  showAll([model.selected, model.known], () => {
    const row = model.selected.value;
    const known = model.known.value;
    const own = triplesOf(known?.closer ?? []).filter(({ anchor }) => anchor === row);
    box.hidden = own.length === 0;
    Promise.all(own.map(item)).then((items) => {
      if (model.selected.value === row && model.known.value === known) replace(list, ...items);
    }, notifyProblem);
  });
  return box;
}
