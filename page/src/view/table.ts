/** Records as a table, page by page: those that were found, or those within an outline. */

import { api } from "../api";
import { keepFile } from "../downloads";
import type { DataRecord } from "../logic/types";
import { counted, whole } from "../logic/words";
import type { Model } from "../model";
import { notifyProblem } from "../notices";
import { byId, closeButton, h, replace } from "./dom";
import { thumbnail } from "./picture";
import { fieldValue, recordName } from "./record";

const ROWS = 20;
/** Pictures of a sheet. */
const SHEET = 60;
const MOST_COLUMNS = 12;

let dialog: HTMLDialogElement | null = null;

export function downloadRows(rows: number[]): void {
  api.rowsFile(rows).then((file) => keepFile(...file), notifyProblem);
}

export function openTable(model: Model, rows: number[], title: string): void {
  if (dialog === null) {
    dialog = h("dialog", { class: "table", "aria-labelledby": "table-title", testid: "table" });
    document.body.append(dialog);
  }
  const box = dialog;
  const each = model.lesson.has_images ? SHEET : ROWS;
  const pages = Math.max(1, Math.ceil(rows.length / each));
  let page = 0;
  const body = h("div", {
    class: "table-body",
    tabindex: "0",
    role: "group",
    "aria-label": "Records",
  });
  const place = h("span", { class: "count", role: "status", testid: "table-page" });
  const turn = (text: string, testid: string, to: () => number): HTMLButtonElement =>
    h("button", { type: "button", class: "small", text, testid, on: { click: () => show(to()) } });
  const back = turn("Previous", "table-previous", () => page - 1);
  const next = turn("Next", "table-next", () => page + 1);

  const choose = (row: number): void => {
    box.close();
    model.selected.set(row);
    byId("panel").scrollIntoView({ block: "nearest" });
  };

  const show = (wanted: number, focus: "first" | "last" | null = null): void => {
    page = Math.max(0, Math.min(pages - 1, wanted));
    const now = page;
    place.textContent = `Page ${whole(page + 1)} of ${whole(pages)}`;
    back.disabled = page === 0;
    next.disabled = page === pages - 1;
    api.rows(rows.slice(page * each, (page + 1) * each)).then((records) => {
      if (now !== page) return;
      const made = model.lesson.has_images ? sheetOf : tableOf;
      replace(body, made(model, records, choose));
      const buttons = names();
      if (focus !== null) buttons[focus === "first" ? 0 : buttons.length - 1]?.focus();
    }, notifyProblem);
  };

  const names = (): HTMLElement[] => [...body.querySelectorAll<HTMLElement>("th button, .contact")];
  const step = (by: number): void => {
    const all = names();
    const at = all.indexOf(document.activeElement as HTMLElement) + by;
    if (at >= 0 && at < all.length) all[at].focus();
    else if (by > 0 && page < pages - 1) show(page + 1, "first");
    else if (by < 0 && page > 0) show(page - 1, "last");
  };
  box.onkeydown = (event) => {
    const moves: Record<string, () => void> = {
      ArrowDown: () => step(1),
      ArrowUp: () => step(-1),
      PageDown: () => show(page + 1, "first"),
      PageUp: () => show(page - 1, "first"),
      Home: () => show(0, "first"),
      End: () => show(pages - 1, "last"),
    };
    const move = moves[event.key];
    if (move === undefined) return;
    move();
    event.preventDefault();
  };
  box.onclick = (event) => {
    if (event.target === box) box.close();
  };

  replace(
    box,
    h(
      "div",
      { class: "card-head" },
      h("h2", { id: "table-title", text: `${title}: ${counted(rows.length, "record")}` }),
      closeButton("Close the table", "table-close", () => box.close()),
    ),
    body,
    h(
      "div",
      { class: "row-actions" },
      back,
      next,
      place,
      h("button", {
        type: "button",
        class: "small",
        text: "Download CSV",
        testid: "table-download",
        on: { click: () => downloadRows(rows) },
      }),
    ),
  );
  box.showModal();
  show(0, "first");
}

/** Pictures side by side, each with its name. */
function sheetOf(_model: Model, records: DataRecord[], choose: (row: number) => void): HTMLElement {
  const one = (record: DataRecord): HTMLElement =>
    h(
      "button",
      {
        type: "button",
        class: "contact",
        title: "Show it on the map",
        on: { click: () => choose(record.row) },
      },
      thumbnail(record),
      h("span", { text: recordName(record), dir: "auto" }),
    );
  return h("div", { class: "contacts" }, ...records.map(one));
}

function tableOf(model: Model, records: DataRecord[], choose: (row: number) => void): HTMLElement {
  const columns = (records[0]?.fields ?? []).map(({ name }) => name).slice(0, MOST_COLUMNS);
  const name = (record: DataRecord): HTMLElement =>
    h(
      "th",
      { scope: "row" },
      h(
        "button",
        {
          type: "button",
          class: "pick near",
          title: "Show it on the map",
          on: { click: () => choose(record.row) },
        },
        thumbnail(record),
        h("span", { text: recordName(record), dir: "auto" }),
      ),
    );
  const cells = (record: DataRecord): HTMLElement[] =>
    columns.map((_, k) => h("td", {}, record.fields[k] && fieldValue(record.fields[k])));
  return h(
    "table",
    {},
    h("caption", { class: "unseen", text: "Records" }),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col", text: model.lesson.id_name, dir: "auto" }),
        ...columns.map((text) => h("th", { scope: "col", text, dir: "auto" })),
      ),
    ),
    h("tbody", {}, ...records.map((record) => h("tr", {}, name(record), ...cells(record)))),
  );
}
