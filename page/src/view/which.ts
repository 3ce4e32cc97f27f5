/** A record beside those of several groups, each with a key: which of them is it like? */

import { categoryColour } from "../logic/colours";
import type { DataRecord, KnownGroup } from "../logic/types";
import type { Asked, Model } from "../model";
import { answerWhich, askByGroups, nameKnown } from "../which";
import { h, key, replace, swatch } from "./dom";
import { recordCard, recordLine } from "./record";

/** As many characters as the server takes. */
const LONGEST_NAME = 60;
/** Pixels of the picture of the record that is asked about. */
const PICTURE_PX = 160;

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
  const fill = (found: DataRecord): void =>
    replace(record, recordCard(model, found, { width: PICTURE_PX }));
  const here = model.records.peek(left);
  if (here !== undefined) fill(here);
  else {
    void model.records.get(left).then(fill, () => {
      replace(record, h("p", { class: "hint", text: "This record could not be read." }));
    });
  }
  const list = h(
    "ol",
    { class: "which-groups", testid: "which-groups" },
    ...rows.map((row, k) => h("li", {}, ...option(model, question, row, groups[k], k))),
  );
  return [record, list];
}

function option(
  model: Model,
  question: Asked,
  row: number,
  group: KnownGroup,
  k: number,
): HTMLElement[] {
  const pick = h(
    "button",
    {
      type: "button",
      class: "which-group",
      "aria-keyshortcuts": String(k + 1),
      testid: "which-group",
      on: { click: (event) => void answerWhich(model, question, k, event.timeStamp) },
    },
    key(String(k + 1)),
    h(
      "span",
      { class: "which-name" },
      swatch(categoryColour(model.theme.value, group.number)),
      h("span", { text: group.name, dir: "auto" }),
    ),
    recordLine(model, row),
  );
  const rename = h("button", {
    type: "button",
    class: "icon",
    text: "✎",
    title: `Name ${group.name}`,
    "aria-label": `Name ${group.name}`,
    testid: "name-known",
    on: { click: () => naming(model, row, group, pick, rename) },
  });
  return [pick, rename];
}

/** A field in the place of the button, until the name is given or Escape is pressed. */
function naming(
  model: Model,
  row: number,
  group: KnownGroup,
  pick: HTMLElement,
  rename: HTMLElement,
): void {
  const input = h("input", {
    type: "text",
    maxlength: String(LONGEST_NAME),
    value: group.named ? group.name : "",
    placeholder: group.name,
    "aria-label": `Name of ${group.name}`,
    autocomplete: "off",
    dir: "auto",
    testid: "known-name",
  });
  const leave = (): void => {
    form.replaceWith(pick);
    rename.hidden = false;
    rename.focus();
  };
  const form = h(
    "form",
    {
      on: {
        submit: (event) => {
          event.preventDefault();
          void nameKnown(model, row, group, input.value).then((done) => done && leave());
        },
      },
    },
    input,
    h("button", { type: "submit", class: "plain", text: "Name", testid: "give-known-name" }),
  );
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    leave();
    event.stopPropagation();
  });
  pick.replaceWith(form);
  rename.hidden = true;
  input.focus();
}

/** What to say where the record is like none of them. */
export function whichChoices(model: Model, current: () => Asked | null): HTMLElement {
  const button = (label: string, letter: string, choice: false | null, testid: string) =>
    h(
      "button",
      {
        type: "button",
        class: choice === null ? "choice quiet" : "choice",
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

/** Whether records are shown beside groups at all. */
export function byGroupsChoice(model: Model): HTMLElement {
  const box = h("input", { type: "checkbox", id: "by-groups", testid: "by-groups" });
  box.addEventListener("change", () => askByGroups(model, box.checked));
  model.byGroups.show((on) => {
    box.checked = on;
  });
  const title = "Show a record beside several groups, where one answer tells more than a pair";
  return h("label", { class: "check small", for: "by-groups", title }, box, "ask by group");
}
