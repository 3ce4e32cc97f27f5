/** Above the map: a place to look for text, filters, and what to do with what is found. */

import { clearFilter } from "../finding";
import { filterInWords, isEmpty, rowsOf } from "../logic/finding";
import { whole } from "../logic/words";
import type { Model } from "../model";
import { afterPause } from "../settled";
import { showAll } from "../signal";
import { byId, h, key, replace } from "./dom";
import { filterPanel } from "./filter_panel";
import { downloadRows, openTable } from "./table";

/** Not every letter is looked for while somebody types. */
const TYPING_MS = 200;

export function showFind(model: Model): void {
  const input = searchInput(model);
  const panel = filterPanel(model);
  const toggle = h(
    "button",
    {
      type: "button",
      testid: "filter-toggle",
      "aria-expanded": "false",
      "aria-controls": "filter-panel",
    },
    "Filter",
  );
  const setOpen = (open: boolean): void => {
    panel.element.hidden = !open;
    toggle.setAttribute("aria-expanded", String(open));
    if (open) panel.opened();
  };
  toggle.addEventListener("click", () => setOpen(panel.element.hidden === true));
  panel.element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    setOpen(false);
    toggle.focus();
    event.stopPropagation();
  });
  const found = h("span", { class: "found-count", role: "status", testid: "found-count" });
  const actions = h("div", { class: "row-actions", testid: "found-actions" });
  replace(
    byId("find"),
    h("div", { class: "find-line", role: "search" }, input, toggle, found, actions),
    panel.element,
  );

  const button = (text: string, testid: string, press: (rows: number[]) => void): HTMLElement =>
    h("button", {
      type: "button",
      class: "small",
      text,
      testid,
      on: { click: () => model.matches.value && press(rowsOf(model.matches.value)) },
    });
  replace(
    actions,
    button("Table", "found-table", (rows) => openTable(model, rows, "Found")),
    button("Select", "found-select", (rows) => model.selection.set(rows)),
    button("Download", "found-download", (rows) => downloadRows(rows)),
  );

  showAll([model.filter, model.matches, model.searching], () => {
    const matches = isEmpty(model.filter.value) ? null : model.matches.value;
    actions.hidden = matches === null || matches.n === 0;
    found.textContent = model.searching.value
      ? "Searching…"
      : matches === null
        ? ""
        : matches.n === 0
          ? "Nothing matches."
          : `${whole(matches.n)} of ${whole(model.lesson.n_rows)}`;
    found.setAttribute("aria-busy", String(model.searching.value));
    found.title = matches?.notes.join(" ") ?? "";
    if (!isEmpty(model.filter.value))
      for (const note of matches?.notes ?? []) found.append(` ${note}`);
  });
  showInHeader(model);
}

function searchInput(model: Model): HTMLElement {
  const input = h("input", {
    type: "search",
    id: "search",
    testid: "search",
    placeholder: "Find text",
    "aria-label": "Find records by their text",
    "aria-keyshortcuts": "/",
    maxlength: "500",
    autocomplete: "off",
    spellcheck: "false",
    dir: "auto",
  });
  const look = (): void => {
    typing.stop();
    const { value: filter } = model.filter;
    if (filter.text !== input.value) model.filter.set({ ...filter, text: input.value });
  };
  const typing = afterPause(look, TYPING_MS, "pending");
  input.addEventListener("input", typing.start);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") look();
    else if (event.key === "Escape") {
      if (input.value === "") input.blur();
      input.value = "";
      look();
      event.preventDefault();
      event.stopPropagation();
    }
  });
  model.filter.listen(({ text }) => {
    if (document.activeElement !== input) input.value = text;
    if (text === "") input.value = "";
  });
  return h("label", { class: "search-box" }, input, key("/"));
}

/** The header says that not all is shown, and one press shows it again. */
function showInHeader(model: Model): void {
  const said = h("span", { dir: "auto", testid: "filter-said" });
  const clear = h("button", {
    type: "button",
    class: "small",
    text: "Clear",
    "aria-label": "Clear the filter",
    testid: "filter-clear",
    on: { click: () => clearFilter(model) },
  });
  const line = byId("filter");
  replace(line, said, clear);
  showAll([model.filter, model.matches], () => {
    const { value: filter } = model.filter;
    line.hidden = isEmpty(filter);
    const n = model.matches.value?.n;
    said.textContent = `Filter: ${filterInWords(filter)}${n === 0 ? " – nothing matches" : ""}`;
    said.title = said.textContent;
  });
}

export function focusSearch(): void {
  const input = byId<HTMLInputElement>("search");
  input.focus();
  input.select();
}
