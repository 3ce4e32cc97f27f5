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
  const { source, n_rows, n_total, n_features, of_words } = model.lesson;
  document.title = `${source} – nearkin studio`;
  const rows =
    n_total > n_rows
      ? `${whole(n_rows)} of ${counted(n_total, "record")}`
      : counted(n_rows, "record");
  replace(
    byId("source"),
    h("strong", { text: source }),
    h("span", { text: `${rows}, ${counted(n_features, of_words ? "column" : "feature")}` }),
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
}

function showThemeButton(model: Model): void {
  const button = byId<HTMLButtonElement>("theme-button");
  button.addEventListener("click", () => toggleTheme(model.theme));
  model.theme.show((theme) => {
    button.textContent = theme === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", theme === "dark" ? "Light colours" : "Dark colours");
  });
}

function showExportMenu(model: Model): void {
  const button = byId<HTMLButtonElement>("export-button");
  const menu = byId("export-menu");
  const entries = EXPORTS.map(({ name, label, about }) => {
    const entry = h(
      "button",
      { type: "button", testid: `export-${name}` },
      h("span", { text: label }),
      h("small", { text: about }),
    );
    entry.addEventListener("click", () => {
      close();
      download(name);
    });
    return entry;
  });
  const lines = entries.map((entry) => h("li", {}, entry));
  replace(menu, ...lines);
  const line = (wanted: ExportName): HTMLElement =>
    lines[EXPORTS.findIndex(({ name }) => name === wanted)];
  line("duplicates").hidden = !model.lesson.review;
  const shown = (): HTMLButtonElement[] => entries.filter((_, k) => !lines[k].hidden);

  const open = (): void => {
    menu.hidden = false;
    button.setAttribute("aria-expanded", "true");
    entries[0].focus();
  };
  function close(): void {
    if (menu.hidden) return;
    const had = menu.contains(document.activeElement);
    menu.hidden = true;
    button.setAttribute("aria-expanded", "false");
    if (had) button.focus();
  }
  button.addEventListener("click", () => (menu.hidden ? open() : close()));
  menu.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") close();
    else if (step !== undefined) {
      const open = shown();
      const now = open.indexOf(document.activeElement as HTMLButtonElement);
      open[(now + step + open.length) % open.length].focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  document.addEventListener("pointerdown", (event) => {
    if (!menu.contains(event.target as Node) && event.target !== button) close();
  });
  menu.addEventListener("focusout", (event) => {
    const next = event.relatedTarget as Node | null;
    if (next !== null && !menu.contains(next) && next !== button) close();
  });
}
