/** The head of the page: what is shown, the connection, export, theme, help. */

import { api, type ExportName, NO_ANSWER } from "../api";
import { keepFile } from "../downloads";
import type { Connection } from "../live";
import { counted, whole } from "../logic/words";
import type { Model } from "../model";
import { dismiss, notify, notifyProblem } from "../notices";
import { toggleTheme } from "../theme";
import { byId, h, replace } from "./dom";

const EXPORTS: { name: ExportName; label: string; about: string }[] = [
  { name: "pairs", label: "Pairs", about: "your answers" },
  { name: "embedding", label: "Embedding", about: "coordinates in the learned metric" },
  { name: "model", label: "Model", about: "the metric, for nearkin.load" },
  { name: "groups", label: "Groups", about: "the group of every record" },
  { name: "duplicates", label: "Duplicates", about: "records that are the same thing" },
];

const CONNECTIONS: Record<Connection, string> = {
  connecting: "connecting…",
  open: "",
  lost: "reconnecting…",
  refused: "not connected",
};
const STARTED_ANEW = "The studio was started anew: open the address that it printed.";

export function download(name: ExportName): void {
  api.export(name).then((file) => keepFile(...file), notifyProblem);
}

export function showHeader(model: Model): void {
  const { source, n_rows, n_total, n_features, has_images } = model.lesson;
  document.title = `${source} – nearkin studio`;
  const rows =
    n_total > n_rows
      ? `${whole(n_rows)} of ${counted(n_total, "record")}`
      : counted(n_rows, "record");
  replace(
    byId("source"),
    h("strong", { text: source }),
    // Of pictures, pixels are counted by nobody.
    h("span", { text: has_images ? rows : `${rows}, ${counted(n_features, "column")}` }),
  );
  byId("map-title").textContent = `Map of ${rows}`;

  model.connection.show((connection) => {
    const line = byId("connection");
    line.className = `connection ${connection}`;
    line.textContent = CONNECTIONS[connection];
    if (connection === "open" || connection === "refused") dismiss(NO_ANSWER);
    if (connection === "refused") notify(STARTED_ANEW, "problem");
  });
  showThemeButton(model);
  showExportMenu(model);
  makeMenu("export");
  makeMenu("more");
}

function showThemeButton(model: Model): void {
  const button = byId<HTMLButtonElement>("theme-button");
  button.addEventListener("click", () => toggleTheme(model.theme));
  model.theme.show((theme) => {
    button.textContent = theme === "dark" ? "Light colours" : "Dark colours";
  });
}

function showExportMenu(model: Model): void {
  const lines = EXPORTS.map(({ name, label, about }) =>
    h(
      "li",
      { hidden: name === "duplicates" && !model.lesson.review },
      h(
        "button",
        { type: "button", testid: `export-${name}`, on: { click: () => download(name) } },
        h("span", { text: label }),
        h("small", { text: about }),
      ),
    ),
  );
  replace(byId("export-menu"), ...lines);
}

/** A button opens a list of others; arrows step through it, and pressing one closes it. */
function makeMenu(name: "export" | "more"): void {
  const button = byId<HTMLButtonElement>(`${name}-button`);
  const menu = byId(`${name}-menu`);
  const shown = (): HTMLElement[] => [
    ...menu.querySelectorAll<HTMLElement>("li:not([hidden]) > *"),
  ];
  const open = (): void => {
    menu.hidden = false;
    button.setAttribute("aria-expanded", "true");
    shown()[0]?.focus();
  };
  const close = (): void => {
    if (menu.hidden) return;
    const had = menu.contains(document.activeElement);
    menu.hidden = true;
    button.setAttribute("aria-expanded", "false");
    if (had) button.focus();
  };
  button.addEventListener("click", () => (menu.hidden ? open() : close()));
  menu.addEventListener("click", close, { capture: true });
  menu.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") close();
    else if (step !== undefined) {
      const all = shown();
      const now = all.indexOf(document.activeElement as HTMLElement);
      all[(now + step + all.length) % all.length].focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  document.addEventListener("pointerdown", (event) => {
    const at = event.target as Node;
    if (!menu.contains(at) && !button.contains(at)) close();
  });
  menu.addEventListener("focusout", (event) => {
    const next = event.relatedTarget as Node | null;
    if (next !== null && !menu.contains(next) && next !== button) close();
  });
}
