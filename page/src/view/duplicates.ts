/** Groups of records that are likely the same thing, one after the other: taken as they are, or split. */

import { answerMany, lookAtReview } from "../actions";
import { api } from "../api";
import { pairedFields } from "../logic/fields";
import type { DataRecord, Found } from "../logic/types";
import { whole } from "../logic/words";
import type { Model } from "../model";
import { announce, notifyProblem } from "../notices";
import { closeButton, h, key, replace } from "./dom";
import { thumbnail } from "./picture";
import { fieldValue, recordName } from "./record";

let dialog: HTMLDialogElement | null = null;

export function openDuplicates(model: Model): void {
  const found = model.review.value?.groups ?? [];
  if (found.length === 0) {
    announce("No duplicates were found so far.");
    return;
  }
  if (dialog === null) {
    dialog = h("dialog", {
      class: "table found",
      "aria-labelledby": "duplicates-title",
      testid: "duplicates",
    });
    document.body.append(dialog);
    dialog.addEventListener("close", () => void lookAtReview(model));
  }
  const box = dialog;
  const settled = new Set<Found>(found.filter((one) => one.settled));
  let at = Math.max(
    0,
    found.findIndex((one) => !one.settled),
  );

  const go = (step: number): void => {
    at = Math.max(0, Math.min(found.length - 1, at + step));
    show();
  };
  const say = async (send: () => ReturnType<typeof accept>): Promise<void> => {
    const one = found[at];
    if ((await send()) !== "said") return;
    settled.add(one);
    go(1);
  };
  const accept = ({ rows }: Found) =>
    answerMany(
      model,
      () => api.answerGroups(rows, [], true, null),
      "They are the same thing.",
      true,
    );
  /** One record is none of the others. */
  const takeOut = ({ rows }: Found, k: number) => {
    const others = rows.filter((_, other) => other !== k);
    return answerMany(
      model,
      () => api.split([rows[k]], others, null),
      "It is another thing.",
      true,
    );
  };

  const show = (): void => {
    const one = found[at];
    Promise.all(
      one.rows.map((row) =>
        model.records.get(row, one.rows[0] === row ? one.rows[1] : one.rows[0]),
      ),
    ).then((records) => {
      if (found[at] === one) draw(one, records);
    }, notifyProblem);
  };
  const draw = (one: Found, records: DataRecord[]): void => {
    const button = (text: string, letter: string, testid: string, press: () => void): HTMLElement =>
      h("button", { type: "button", testid, on: { click: press } }, text, key(letter));
    replace(
      box,
      h(
        "div",
        { class: "card-head" },
        h("h2", {
          id: "duplicates-title",
          text: `Group ${whole(at + 1)} of ${whole(found.length)}${settled.has(one) ? ", settled" : ""}`,
        }),
        closeButton("Close", "duplicates-close", () => box.close()),
      ),
      h(
        "div",
        { class: "table-body", tabindex: "0", role: "group", "aria-label": "Records" },
        tableOf(records, (k) => void say(() => takeOut(one, k))),
      ),
      h(
        "div",
        { class: "row-actions" },
        button("All the same thing", "s", "duplicates-same", () => void say(() => accept(one))),
        records.length === 2 &&
          button("Different", "d", "duplicates-different", () => void say(() => takeOut(one, 1))),
        button("Previous", "←", "duplicates-previous", () => go(-1)),
        button("Next", "→", "duplicates-next", () => go(1)),
      ),
    );
    box.querySelector<HTMLElement>(".table-body")?.focus();
  };

  box.onkeydown = (event) => {
    const one = found[at];
    const digit = Number(event.key);
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "ArrowRight") go(1);
    else if (event.key === "ArrowLeft") go(-1);
    else if (event.key === "s") void say(() => accept(one));
    else if (event.key === "d" && one.rows.length === 2) void say(() => takeOut(one, 1));
    else if (digit >= 1 && digit <= one.rows.length && one.rows.length > 2) {
      void say(() => takeOut(one, digit - 1));
    } else return;
    event.preventDefault();
  };
  box.showModal();
  show();
}

/** A line for each record; cells that differ from the first record's are marked. */
function tableOf(records: DataRecord[], takeOut: (k: number) => void): HTMLElement {
  const [first] = records;
  const columns = first.fields.map(({ name }) => name);
  const head = ["", ...columns].map((text) => h("th", { scope: "col", text, dir: "auto" }));
  const line = (record: DataRecord, k: number): HTMLElement => {
    const fields = new Map(pairedFields(first, record).map((pair) => [pair.name, pair.right]));
    const cells = columns.map((name) => {
      const field = fields.get(name);
      return h("td", {}, field && fieldValue(field, false));
    });
    const out = h(
      "button",
      {
        type: "button",
        class: "small",
        testid: "take-out",
        "aria-label": `${recordName(record)} is another thing`,
        on: { click: () => takeOut(k) },
      },
      "Not the same",
      key(String(k + 1)),
    );
    const name = h("span", { text: recordName(record), dir: "auto" });
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, thumbnail(record), name),
      ...cells,
      records.length > 2 && h("td", {}, out),
    );
  };
  return h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...records.map(line)));
}
