/** The help dialog: how teaching works, and the keys. */

import type { Model } from "../model";
import { remember, remembered } from "../storage";
import { byId, h, replace } from "./dom";

const KEYS: [string[], string][] = [
  [["s"], "same: of the question, or of groups A and B"],
  [["d"], "different"],
  [["u"], "unsure"],
  [["1", "…", "9"], "the group that a record is like, where several are shown; 0 for none"],
  [["z"], "undo, and ask again what was undone"],
  [["Shift", "z"], "redo"],
  [["w"], "withdraw the chosen suspect"],
  [["r"], "review doubtful pairs of records; s, d and u are said of them then"],
  [["h"], "list of answers: search, look again, flip, delete"],
  [["n"], "neighbours of the selected point"],
  [["a"], "put the selected point into group A, or take it out"],
  [["b"], "the same for group B"],
  [["g"], "lasso on or off; Shift and drag works at any time"],
  [["l"], "lines of all that was said, or of the pair that is asked only"],
  [["t"], "names on the map, or none"],
  [["f"], "bring all points into view"],
  [["m"], "go to the map; then arrows step, Enter selects, + and − zoom"],
  [["q"], "go to the question"],
  [["c"], "columns: what is learned from"],
  [["/"], "find records by their text"],
  [["x"], "the card in full width, and back"],
  [
    ["y"],
    "why two records are near: those of the card, or the selected point and the one pointed at",
  ],
  [["Esc"], "clear groups and selection, close"],
  [["?"], "this help"],
];

const HOW =
  "Every point is a record. Say of two records whether they are the same kind of thing or different, and the " +
  "distance between all records is learned anew at once: the map moves. Questions are chosen so that an answer " +
  "tells much; you may also answer for any two groups or neighbours, or say which of two neighbours is nearer. When unsure, say so: it costs nothing. " +
  "Find groups puts all records into groups by the learned distance; give them names, and say which are one or how they " +
  "are to be split: it becomes answers too. " +
  "Every answer can be undone. Some answers are held out to measure " +
  "whether the learned distance is better than the plain Euclidean one, and answers that the others contradict " +
  "are listed as suspects.";

const ON_DISK = "Every answer is on the disk before it is confirmed, in ";
export const IN_MEMORY =
  "Answers are in memory only, and end with the program that opened this page: its option journal keeps them.";

export function prepareHelp(model: Model): void {
  const dialog = byId<HTMLDialogElement>("help-dialog");
  const { journal } = model.lesson;
  const box = h("input", { type: "checkbox", id: "shortcuts", testid: "shortcuts" });
  model.shortcuts.set(remembered("shortcuts") !== "off");
  box.checked = model.shortcuts.value;
  box.addEventListener("change", () => {
    model.shortcuts.set(box.checked);
    remember("shortcuts", box.checked ? "on" : "off");
  });
  replace(
    dialog,
    h(
      "div",
      { class: "card-head" },
      h("h2", { id: "help-title", text: "How teaching works" }),
      h("button", {
        type: "button",
        class: "icon",
        "aria-label": "Close help",
        text: "×",
        testid: "help-close",
        on: { click: () => dialog.close() },
      }),
    ),
    h("p", { text: HOW }),
    h("p", { text: journal === null ? IN_MEMORY : `${ON_DISK}${journal}.`, testid: "where-kept" }),
    h("h3", { text: "Keys" }),
    h(
      "dl",
      { class: "keys" },
      ...KEYS.filter(([[name]]) => name !== "r" || model.lesson.review).map(([keys, meaning]) =>
        h(
          "div",
          {},
          h("dt", {}, ...keys.map((name) => h("kbd", { text: name }))),
          h("dd", { text: meaning }),
        ),
      ),
    ),
    h("label", { class: "check", for: "shortcuts" }, box, "Single keys are on"),
  );
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  byId("help-button").addEventListener("click", openHelp);
}

export function openHelp(): void {
  const dialog = byId<HTMLDialogElement>("help-dialog");
  if (!dialog.open) dialog.showModal();
}
