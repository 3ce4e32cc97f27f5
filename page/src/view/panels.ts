/** Tabs below the question: quality, suspects, the selected point. */

import { byId, h, replace } from "./dom";

export interface Panel {
  id: string;
  title: string;
  body: HTMLElement;
}

export interface Panels {
  open: (id: string) => void;
  /** A number beside the title, such as how many suspects there are. */
  badge: (id: string, text: string) => void;
}

export function showPanels(panels: Panel[]): Panels {
  const tabs = panels.map(({ id, title }) =>
    h(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${id}`,
        "aria-controls": `panel-${id}`,
        testid: `tab-${id}`,
        on: { click: () => open(id) },
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

  function open(id: string): void {
    panels.forEach((panel, k) => {
      const chosen = panel.id === id;
      tabs[k].setAttribute("aria-selected", String(chosen));
      tabs[k].tabIndex = chosen ? 0 : -1;
      bodies[k].hidden = !chosen;
    });
  }

  const list = h("div", { role: "tablist", "aria-label": "Details" }, ...tabs);
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const now = tabs.findIndex((tab) => tab.getAttribute("aria-selected") === "true");
    const next = (now + step + tabs.length) % tabs.length;
    open(panels[next].id);
    tabs[next].focus();
    event.preventDefault();
  });

  replace(byId("panels"), list, ...bodies);
  open(panels[0].id);
  return {
    open,
    badge: (id, text) => {
      const badge = byId(`tab-${id}`).querySelector(".badge");
      if (badge !== null) badge.textContent = text;
    },
  };
}
