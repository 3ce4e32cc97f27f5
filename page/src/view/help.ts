/** The help dialog: how teaching works, and the keys. */

import type { Model } from "../model";
import { remember, remembered } from "../storage";
import { byId, closeButton, h, replace } from "./dom";

const KEYS: [string[], string][] = [
  [["s"], "same"],
  [["d"], "different"],
  [["u"], "unsure"],
  [["1", "…", "9"], "the group that a record is like; 0 for none of them"],
  [["z"], "undo, and ask again what was undone"],
  [["Shift", "z"], "redo"],
  [["y"], "why two records are near"],
  [["h"], "the answers: search, look again, change, delete"],
  [["w"], "withdraw the answer that looks wrong"],
  [["r"], "the duplicates that were found, group by group"],
  [["n"], "neighbours of the selected point"],
  [["g"], "select points on the map; Shift and drag does so at any time"],
  [["t"], "names on the map, or none"],
  [["f"], "bring all points into view"],
  [["m"], "go to the map; then arrows step, Enter selects, + and − zoom"],
  [["q"], "go to the question"],
  [["i"], "about these data"],
  [["c"], "columns: what is learned from"],
  [["/"], "find records by their text"],
  [["Esc"], "clear what is selected, close"],
  [["?"], "this help"],
];

const HOW =
  "Every point is a record. Say of two records whether they are the same kind of thing, or which group one is like, and " +
  "the distance between all records is learned anew at once: the map moves. Points have the colour of the group that they " +
  "are likely of, pale where that is unsure. Questions are chosen so that an answer tells much. When unsure, say so: it " +
  "costs nothing. Press a group in the legend to name it or to join it to another one. Every answer can be undone. Some " +
  "answers are held out to measure how good the learned distance is, and answers that the others contradict are listed.";

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
      closeButton("Close help", "help-close", () => dialog.close()),
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
