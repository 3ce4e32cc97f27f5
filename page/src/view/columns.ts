/** The dialog of columns: what is learned from, what is set aside and why, and another choice. */

import { api } from "../api";
import { aboutChoice, changed, chosen, type Scale, standardiseOf } from "../logic/columns";
import type { Column, Columns } from "../logic/types";
import type { Model } from "../model";
import { announce, notify } from "../notices";
import { reloadPage } from "../settled";
import { byId, closeButton, h, replace } from "./dom";

/** What is to be said after the page was loaded anew. */
const SAID = "nearkin-columns-changed";

export function prepareColumns(): void {
  const dialog = byId<HTMLDialogElement>("columns-dialog");
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  sayWhatChanged();
}

export async function openColumns(model: Model): Promise<void> {
  const dialog = byId<HTMLDialogElement>("columns-dialog");
  if (dialog.open || !model.lesson.has_columns) return;
  replace(dialog, heading(dialog), h("p", { text: "…" }));
  dialog.showModal();
  try {
    show(model, dialog, await api.learnedColumns());
  } catch (problem) {
    replace(dialog, heading(dialog), problemLine(String((problem as Error).message)));
  }
}

function heading(dialog: HTMLDialogElement): HTMLElement {
  return h(
    "div",
    { class: "card-head" },
    h("h2", { id: "columns-title", text: "Columns" }),
    closeButton("Close columns", "columns-close", () => dialog.close()),
  );
}

function problemLine(text: string): HTMLElement {
  return h("p", { class: "problem", role: "alert", text, testid: "columns-problem" });
}

function show(model: Model, dialog: HTMLDialogElement, { columns, standardised }: Columns): void {
  const ticked = new Set(columns.filter(({ learned }) => learned).map(({ name }) => name));
  const about = h("p", { role: "status", testid: "columns-about" });
  const scale = scaleMenu(standardised);
  const apply = h("button", {
    type: "submit",
    class: "primary",
    text: "Learn from these",
    testid: "columns-apply",
  });
  const problem = h("div");
  const look = (): void => {
    about.textContent = aboutChoice(columns, ticked);
    apply.disabled = chosen(columns, ticked).length === 0;
  };
  const lines = columns.map((column) => line(column, ticked, look));
  const form = h(
    "form",
    { method: "dialog" },
    h("div", { class: "columns-list" }, table(lines)),
    h("label", { class: "columns-scale" }, "One scale for all columns ", scale),
    about,
    problem,
    apply,
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    apply.disabled = true;
    apply.textContent = "Learning…";
    const names = chosen(columns, ticked);
    api.learnFrom(names, standardiseOf(scale.value as Scale)).then(
      () => reloadAndSay(changed(names.length, model.state.value.n_answers)),
      (failed: Error) => {
        replace(problem, problemLine(failed.message));
        apply.disabled = false;
        apply.textContent = "Learn from these";
      },
    );
  });
  look();
  const kept = "Answers stay as they are, whatever you choose: they belong to the records.";
  replace(dialog, heading(dialog), h("p", { text: kept }), form);
  form.querySelector<HTMLElement>("input:not(:disabled)")?.focus();
}

function table(lines: HTMLElement[]): HTMLElement {
  const head = ["Column", "Holds", "Why not"].map((text) => h("th", { scope: "col", text }));
  return h(
    "table",
    { class: "columns-table", testid: "columns-table" },
    h("thead", {}, h("tr", {}, ...head)),
    h("tbody", {}, ...lines),
  );
}

function line(column: Column, ticked: Set<string>, look: () => void): HTMLElement {
  const { name, kind, can, why } = column;
  const box = h("input", { type: "checkbox", disabled: !can, testid: `column-${name}` });
  box.checked = ticked.has(name);
  box.addEventListener("change", () => {
    if (box.checked) ticked.add(name);
    else ticked.delete(name);
    look();
  });
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, h("label", { dir: "auto" }, box, h("span", { text: name }))),
    h("td", { text: kind }),
    h("td", { text: why, class: "why" }),
  );
}

function scaleMenu(standardised: boolean): HTMLSelectElement {
  const options: [Scale, string][] = [
    ["auto", `where units differ much (now: ${standardised ? "yes" : "no"})`],
    ["yes", "yes"],
    ["no", "no"],
  ];
  return h(
    "select",
    { testid: "columns-scale" },
    ...options.map(([value, text]) => h("option", { value, text })),
  );
}

function reloadAndSay(sentence: string): void {
  try {
    window.sessionStorage.setItem(SAID, sentence);
  } catch {
    // It is only not said then.
  }
  reloadPage();
}

function sayWhatChanged(): void {
  try {
    const said = window.sessionStorage.getItem(SAID);
    if (said === null) return;
    window.sessionStorage.removeItem(SAID);
    notify(said);
    announce(said);
  } catch {
    // Nothing was kept, and nothing is said.
  }
}
