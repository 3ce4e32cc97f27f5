/** A record beside those of several groups, each with a key: which of them is it like? */

import { groupOf } from "../groups";
import { textsOf } from "../logic/fields";
import { titleOf } from "../logic/messages";
import type { DataRecord, KnownGroup } from "../logic/types";
import type { Asked, Model } from "../model";
import { groupColour } from "../theme";
import { answerWhich } from "../which";
import { h, key, replace } from "./dom";
import { badge, contactSheet } from "./legend";
import { CARD_PX, largePicture } from "./picture";
import { fieldList, recordName, sharedScale } from "./record";

/** Of a group of pictures: so many of it, of few groups and of more. */
const SHOWN = [3, 2];
/** So few groups have more room each. */
const FEW = 4;
/** Characters of an example. */
const TOLD = 320;

/** The record and the groups, filled when they are here. */
export function whichBody(model: Model, question: Asked): HTMLElement[] {
  const { left, rows = [], groups = [] } = question;
  const record = h("div", {
    class: "which-record",
    testid: "which-record",
    tabindex: "0",
    role: "group",
    "aria-label": "The record",
  });
  const fill = (found: DataRecord): void => {
    replace(
      record,
      h("h3", { text: recordName(found), dir: "auto" }),
      largePicture(found, CARD_PX),
      fieldList(null, found, Number.POSITIVE_INFINITY),
    );
    void Promise.all(rows.map((row) => model.records.get(row))).then(
      (examples) => showScales(record, found, examples, groups),
      () => undefined,
    );
  };
  const here = model.records.peek(left);
  if (here !== undefined) fill(here);
  else {
    void model.records.get(left).then(fill, () => {
      replace(record, h("p", { class: "hint", text: "This record could not be read." }));
    });
  }
  const options = rows.map((row, k) => option(model, question, row, groups[k], k));
  const few = rows.length <= FEW ? `few-${Math.max(2, rows.length)}` : "";
  const list = h("ol", { class: `which-groups ${few}`, testid: "which-groups" }, ...options);
  return [record, list];
}

/** Amounts of the record on one scale with those of the groups' examples. */
function showScales(
  box: HTMLElement,
  record: DataRecord,
  examples: DataRecord[],
  groups: KnownGroup[],
): void {
  const places = box.querySelectorAll(".rank");
  const amounts = record.fields.filter(({ rank, value }) => rank !== undefined && value !== "");
  amounts.forEach(({ name, rank }, k) => {
    const marks = examples.map(({ fields }, i) => ({
      rank: fields.find((field) => field.name === name)?.rank,
      name: groups[i]?.name ?? String(i + 1),
      kind: "of-group",
      colour: groupColour(groups[i]?.number ?? i),
    }));
    places[k]?.replaceWith(sharedScale([...marks, { rank, name: "this record", kind: "own" }]));
  });
}

function option(
  model: Model,
  question: Asked,
  row: number,
  group: KnownGroup,
  k: number,
): HTMLElement {
  const known = groupOf(model, group);
  const title = known === undefined ? group.name : titleOf(known);
  const others = (known?.examples ?? []).filter((one) => one !== row);
  // Of pictures, what a group is called says nothing beside its number until it has a name.
  const pictured = model.lesson.has_images;
  const gist = h("span", { class: "gist", dir: "auto" });
  if (!pictured) {
    // Amounts are on the scales.
    void model.records.get(row).then(
      (record) => replace(gist, textsOf(record, TOLD)),
      () => undefined,
    );
  }
  return h(
    "li",
    {},
    h(
      "button",
      {
        type: "button",
        class: "which-group",
        "aria-keyshortcuts": String(group.number + 1),
        testid: "which-group",
        title,
        on: { click: (event) => void answerWhich(model, question, k, event.timeStamp) },
      },
      badge(group.number),
      !(pictured && title === group.name && !group.named) &&
        h("span", { class: "which-name", text: title, dir: "auto" }),
      contactSheet(
        model,
        [row, ...others].slice(0, SHOWN[Number((question.rows ?? []).length > FEW)]),
      ) ?? gist,
    ),
  );
}

/** What to say where the record is like none of them. */
export function whichChoices(model: Model, current: () => Asked | null): HTMLElement {
  const button = (label: string, letter: string, choice: false | null, testid: string) =>
    h(
      "button",
      {
        type: "button",
        class: choice === null ? "choice quiet" : "choice plain",
        "aria-keyshortcuts": letter,
        testid,
        on: {
          click: (event) => {
            const question = current();
            if (question?.rows) void answerWhich(model, question, choice, event.timeStamp);
          },
        },
      },
      label,
      key(letter),
    );
  return h(
    "div",
    { class: "choices two", hidden: true },
    button("None of them", "0", false, "which-none"),
    button("Unsure", "u", null, "which-unsure"),
  );
}
