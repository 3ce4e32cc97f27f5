/** The legend of groups that were found: their names, sizes and examples; chosen, they are named or spoken of. */

import { nameGroup, sayOfChosen } from "../grouping";
import { categoryColour, PALETTES } from "../logic/colours";
import { GROUPS, withChosen } from "../logic/grouping";
import type { FoundGroup, Grouping } from "../logic/types";
import { whole } from "../logic/words";
import { type Model, NONE_CHOSEN } from "../model";
import { showAll } from "../signal";
import { h, replace, swatch } from "./dom";
import { download } from "./header";
import { thumbnail } from "./picture";
import { recordName } from "./record";

const MOST_LISTED = 30;
/** As many characters as the server takes. */
const LONGEST_NAME = 60;

/** Fills a part of the legend while groups are shown, and empties it when they are not. */
export function foundGroups(model: Model): HTMLElement {
  const busy = h("p", { class: "legend-rest", role: "status", testid: "finding-groups" });
  const said = h("p", { class: "legend-rest", testid: "groups-said" });
  const reason = h("p", { class: "legend-rest reason", testid: "groups-reason" });
  const list = h("ul", { testid: "found-groups", "aria-label": "Groups" });
  const rest = h("div");
  const actions = h("div", { class: "group-actions", testid: "group-actions" });
  const box = h("div", {}, busy, said, list, actions, rest, reason);

  const draw = (): void => {
    const grouping = shown(model);
    box.hidden = model.colouringKey.value !== GROUPS;
    busy.textContent = model.finding.value === null ? "" : "Groups are being found…";
    said.textContent = grouping === null ? "" : `${grouping.said}.`;
    reason.textContent = grouping?.reason ?? "";
    const at = focusedGroup(list);
    replace(list, ...(grouping === null ? [] : listed(model, grouping)));
    if (at !== null) list.querySelector<HTMLElement>(`[data-group="${at}"]`)?.focus();
    replace(rest, ...(grouping === null ? [] : remarks(model, grouping)));
  };
  showAll(
    [model.colouring, model.grouping, model.finding, model.theme, model.chosen, model.colouringKey],
    draw,
  );
  showAll([model.chosen, model.grouping, model.colouring], () => showActions(model, actions));
  return box;
}

/** The groups, if points have their colours already. */
function shown(model: Model): Grouping | null {
  const { grouping, colouring, colouringKey } = model;
  if (colouringKey.value !== GROUPS || colouring.value?.key !== GROUPS) return null;
  return grouping.value?.number === colouring.value.number ? grouping.value : null;
}

function focusedGroup(list: HTMLElement): string | null {
  const focused = document.activeElement;
  return focused !== null && list.contains(focused) ? focused.getAttribute("data-group") : null;
}

function listed(model: Model, grouping: Grouping): HTMLElement[] {
  const numbered = grouping.groups.map((group, number) => ({ group, number }));
  const largest = [...numbered].sort((a, b) => b.group.size - a.group.size).slice(0, MOST_LISTED);
  const kept = new Set(largest);
  return numbered
    .filter((one) => kept.has(one))
    .map(({ group, number }) => h("li", {}, entry(model, group, number)));
}

function entry(model: Model, group: FoundGroup, number: number): HTMLElement {
  const chosen = model.chosen.value.numbers.includes(number);
  const example = h("span", { class: "legend-example" });
  const button = h(
    "button",
    {
      type: "button",
      "aria-pressed": String(chosen),
      "data-group": String(number),
      testid: "found-group",
      title: "Choose it to name it; choose two to say whether they are one",
      on: {
        mouseenter: () => model.category.set(number),
        mouseleave: () => model.category.set(null),
        focus: () => model.category.set(number),
        blur: () => model.category.set(null),
        click: () => model.chosen.set({ numbers: withChosen(model.chosen.value.numbers, number) }),
      },
    },
    swatch(categoryColour(model.theme.value, number)),
    h("span", { class: "legend-name", text: group.name, dir: "auto" }),
    example,
    h(
      "span",
      { class: "legend-count" },
      whole(group.size),
      h("span", { class: "unseen", text: group.size === 1 ? " point" : " points" }),
    ),
  );
  void model.records.get(group.medoid).then(
    (record) =>
      replace(
        example,
        h("span", { class: "unseen", text: ", for example " }),
        thumbnail(record) ?? h("span", { text: recordName(record), dir: "auto" }),
        h("span", { class: "unseen", text: ", " }),
      ),
    () => undefined,
  );
  return button;
}

function remarks(model: Model, grouping: Grouping): HTMLElement[] {
  const { groups, n_outliers, waiting } = grouping;
  const line = (text: string, testid: string): HTMLElement =>
    h("p", { class: "legend-rest", text, testid, dir: "auto" });
  const found: HTMLElement[] = [];
  if (groups.length > MOST_LISTED) {
    found.push(line(`and ${whole(groups.length - MOST_LISTED)} more`, "more-groups"));
  }
  if (n_outliers > 0) {
    found.push(
      h(
        "p",
        { class: "legend-line", testid: "outliers" },
        swatch(PALETTES[model.theme.value].unknown),
        h("span", { class: "legend-name", text: "outliers, in no group" }),
        h("span", { class: "legend-count", text: whole(n_outliers) }),
      ),
    );
  }
  if (waiting.length > 0) {
    found.push(line(`Kept for groups that are not there now: ${waiting.join(", ")}`, "waiting"));
  }
  found.push(
    h("button", {
      type: "button",
      class: "plain",
      text: "Download groups",
      testid: "download-grouping",
      on: { click: () => download(model, "grouping") },
    }),
  );
  return found;
}

/** What to do with one group, or two, that are chosen; what is being typed stays. */
function showActions(model: Model, box: HTMLElement): void {
  const grouping = shown(model);
  const { numbers } = model.chosen.value;
  const of = `${grouping?.number} ${numbers.join(" ")}`;
  const typing = box.querySelector("input:focus") !== null;
  if (typing && box.getAttribute("data-of") === of) return;
  box.setAttribute("data-of", of);
  replace(box, ...(grouping === null ? [] : actionsOn(model, grouping, numbers)));
}

function actionsOn(model: Model, grouping: Grouping, numbers: number[]): HTMLElement[] {
  if (numbers.length === 0) return [];
  if (numbers.length === 1) return [naming(model, grouping, numbers[0])];
  const names = numbers.map((group) => grouping.groups[group].name).join(" and ");
  const button = (text: string, testid: string, same: boolean): HTMLElement =>
    h("button", {
      type: "button",
      class: "plain",
      text,
      testid,
      "aria-label": `${text}: ${names}`,
      on: { click: () => void sayOfChosen(model, same) },
    });
  return [button("Merge", "merge-groups", true), button("Keep apart", "part-groups", false)];
}

function naming(model: Model, grouping: Grouping, group: number): HTMLElement {
  const { name, named } = grouping.groups[group];
  const input = h("input", {
    type: "text",
    maxlength: String(LONGEST_NAME),
    value: named ? name : "",
    placeholder: name,
    "aria-label": `Name of ${name}`,
    autocomplete: "off",
    dir: "auto",
    testid: "group-name",
  });
  const leave = (): void => {
    model.chosen.set(NONE_CHOSEN);
    document.querySelector<HTMLElement>(`[data-group="${group}"]`)?.focus();
  };
  const save = async (): Promise<void> => {
    if (await nameGroup(model, group, input.value)) leave();
  };
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    leave();
    event.stopPropagation();
  });
  return h(
    "form",
    {
      on: {
        submit: (event) => {
          event.preventDefault();
          void save();
        },
      },
    },
    input,
    h("button", { type: "submit", class: "plain", text: "Rename", testid: "rename-group" }),
  );
}
