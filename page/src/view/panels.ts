/** Tabs below the question: quality, suspects, the selected point. */

import type { Model, PanelName } from "../model";
import { byId, h, replace } from "./dom";

export interface Panel {
  id: PanelName;
  title: string;
  body: HTMLElement;
}

export function showPanels(model: Model, panels: Panel[]): void {
  const tabs = panels.map(({ id, title }) =>
    h(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${id}`,
        "aria-controls": `panel-${id}`,
        testid: `tab-${id}`,
        on: { click: () => model.panel.set(id) },
      },
      title,
      h("span", { class: "badge" }),
    ),
  );
  const bodies = panels.map(({ id, body }) =>
    h(
      "div",
      {
        role: "tabpanel",
        id: `panel-${id}`,
        "aria-labelledby": `tab-${id}`,
        tabindex: "0",
        testid: `panel-${id}`,
      },
      body,
    ),
  );

  const list = h("div", { role: "tablist", "aria-label": "Details" }, ...tabs);
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const now = tabs.findIndex((tab) => tab.getAttribute("aria-selected") === "true");
    const next = (now + step + tabs.length) % tabs.length;
    model.panel.set(panels[next].id);
    tabs[next].focus();
    event.preventDefault();
  });

  replace(byId("panels"), list, ...bodies);
  model.panel.show((open) => {
    panels.forEach(({ id }, k) => {
      const chosen = id === open;
      tabs[k].setAttribute("aria-selected", String(chosen));
      tabs[k].tabIndex = chosen ? 0 : -1;
      bodies[k].hidden = !chosen;
    });
  });
}

/** A number beside the title of a panel, such as how many suspects there are. */
export function setBadge(id: PanelName, text: string): void {
  const badge = byId(`tab-${id}`).querySelector(".badge");
  if (badge !== null) badge.textContent = text;
}
