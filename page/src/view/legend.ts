/** What the colours mean: the groups with their keys, names and examples; pressed, one is named or joined to another. */

import { mergeGroups, nameGroup } from "../groups";
import { categoryColour, countCategories, PALETTES } from "../logic/colours";
import { DUPLICATES, GROUPS, isPlain, titleOf } from "../logic/messages";
import type { Colouring, Group } from "../logic/types";
import { short, whole } from "../logic/words";
import type { Model } from "../model";
import { showAll } from "../signal";
import { groupColour } from "../theme";
import { byId, h, replace, swatch } from "./dom";
import { thumbnail } from "./picture";

const MOST_CATEGORIES = 12;
/** Of the examples of a group. */
const SHOWN_EXAMPLES = 3;
/** As many characters as the server takes. */
const LONGEST_NAME = 60;
const HINT = "Groups: press one to name it, or to join it to another";
/** In smaller maps the legend is folded at first. */
const SMALL_PX = 420;

export function showLegend(model: Model): void {
  const frame = byId("frame");
  const box = h("details", { open: Math.min(frame.clientWidth, frame.clientHeight) > SMALL_PX });
  replace(byId("legend"), box);
  showAll([model.colouring, model.theme, model.chosen, model.groups], () => {
    const { value: colouring } = model.colouring;
    const typing = box.querySelector("input:focus") !== null;
    if (typing && model.chosen.value !== null) return;
    const focused = document.activeElement?.getAttribute("data-group") ?? null;
    const none = colouring === null || (colouring.key === GROUPS && noGroups(model));
    byId("legend").hidden = none;
    if (none) return replace(box);
    const rows =
      colouring.key === GROUPS
        ? groups(model)
        : colouring.kind === "categories"
          ? categories(model, colouring)
          : [numbers(model, colouring)];
    replace(box, h("summary", { dir: "auto" }, h("h3", { text: colouring.name })), ...rows);
    box.querySelector<HTMLElement>(`[data-group="${focused}"]`)?.focus();
  });
}

function noGroups({ groups }: Model): boolean {
  return (groups.value?.groups.length ?? 0) === 0;
}

/** One list, through which arrows step: many groups are not as many stops of the Tab key. */
function groups(model: Model): (HTMLElement | false)[] {
  const all = model.groups.value?.groups ?? [];
  const chosen = all.find(({ number }) => number === model.chosen.value);
  const items = all.map((group) => line(model, group, group === (chosen ?? all[0])));
  const list = h("ul", { role: "listbox", testid: "groups", "aria-label": HINT }, ...items);
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const at = items.indexOf(document.activeElement as HTMLLIElement);
    if (step !== undefined) items[(at + step + items.length) % items.length].focus();
    else if (event.key === "Enter" || event.key === " ") items[at]?.click();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  const unsure = model.colouring.value?.pale?.reduce((sum, one) => sum + one, 0) ?? 0;
  return [
    chosen !== undefined && editor(model, chosen, all),
    list,
    h("p", { class: "legend-rest", text: unsure > 0 ? `Pale: ${whole(unsure)} unsure` : "" }),
  ];
}

/** Its key in its colour, what it is called, some examples, and how many are likely of it. */
function line(model: Model, group: Group, first: boolean): HTMLLIElement {
  const title = titleOf(group);
  const standOut = (on: boolean) => () => model.category.set(on ? group.number : null);
  return h(
    "li",
    {
      role: "option",
      class: "legend-group",
      tabindex: first ? "0" : "-1",
      "aria-selected": String(model.chosen.value === group.number),
      "data-group": String(group.number),
      testid: "group",
      title: `${title}: name it, or join it to another group`,
      on: {
        mouseenter: standOut(true),
        mouseleave: standOut(false),
        focus: standOut(true),
        blur: standOut(false),
        click: () => model.chosen.set(group.number),
      },
    },
    badge(group.number),
    !(model.lesson.has_images && isPlain(group)) &&
      h("span", { class: "legend-name", text: title, dir: "auto" }),
    contactSheet(model, group.examples.slice(0, SHOWN_EXAMPLES)),
    h("span", { class: "legend-count", text: whole(group.likely) }),
  );
}

/** The number of a group in its colour. */
export function badge(number: number): HTMLElement {
  const sign = h("span", { class: "badge", text: String(number + 1) });
  sign.style.backgroundColor = groupColour(number);
  sign.style.color = groupColour(number, "ink");
  return sign;
}

/** Small pictures of some records, where there are any. */
export function contactSheet(model: Model, rows: number[]): HTMLElement | null {
  if (!model.lesson.has_images) return null;
  const sheet = h("span", { class: "sheet" });
  void Promise.all(rows.map((row) => model.records.get(row))).then(
    (records) => replace(sheet, ...records.map(thumbnail)),
    () => undefined,
  );
  return sheet;
}

function editor(model: Model, group: Group, all: Group[]): HTMLElement {
  const input = h("input", {
    type: "text",
    maxlength: String(LONGEST_NAME),
    value: group.named ? group.name : "",
    placeholder: titleOf(group),
    "aria-label": `Name of ${titleOf(group)}`,
    autocomplete: "off",
    dir: "auto",
    testid: "group-name",
  });
  const leave = (): void => {
    input.blur();
    model.chosen.set(null);
    byId("legend").querySelector<HTMLElement>(`[data-group="${group.number}"]`)?.focus();
  };
  const others = all.filter(({ number }) => number !== group.number);
  const merge = h(
    "select",
    { testid: "group-merge", "aria-label": `Join ${titleOf(group)} to another group` },
    h("option", { value: "", text: "is the same as…" }),
    ...others.map((other) =>
      h("option", { value: String(other.number), text: `${other.number + 1} ${titleOf(other)}` }),
    ),
  );
  merge.addEventListener("change", () => {
    const other = others.find(({ number }) => String(number) === merge.value);
    leave();
    if (other !== undefined) void mergeGroups(model, group, other);
  });
  const form = h(
    "form",
    {
      class: "legend-editor",
      on: {
        submit: (event) => {
          event.preventDefault();
          void nameGroup(model, group, input.value).then((done) => done && leave());
        },
        keydown: (event) => {
          if (event.key !== "Escape") return;
          leave();
          event.stopPropagation();
        },
      },
    },
    badge(group.number),
    input,
    h("button", { type: "submit", class: "small", text: "Name", testid: "group-rename" }),
    others.length > 0 && merge,
  );
  queueMicrotask(() => input.focus());
  return form;
}

function categories(model: Model, colouring: Colouring): HTMLElement[] {
  const { counts, unknown } = countCategories(colouring);
  const theme = model.theme.value;
  const shown = new Set([...counts].sort((a, b) => b.count - a.count).slice(0, MOST_CATEGORIES));
  const line = (colour: string, name: string, count: number): HTMLElement =>
    h(
      "li",
      { class: "legend-line" },
      swatch(colour),
      h("span", { class: "legend-name", text: name, dir: "auto", title: name }),
      h("span", { class: "legend-count", text: whole(count) }),
    );
  const lines = counts
    .filter((one) => shown.has(one))
    .map(({ category, name, count }) => line(categoryColour(theme, category), name, count));
  if (unknown > 0) {
    const rest = colouring.key === DUPLICATES ? "the others" : "none";
    lines.push(line(PALETTES[theme].unknown, rest, unknown));
  }
  const rest = counts.length - shown.size;
  return [
    h("ul", { testid: "legend-categories" }, ...lines),
    h("p", { class: "legend-rest", text: rest > 0 ? `and ${whole(rest)} more` : "" }),
  ];
}

function numbers(model: Model, colouring: Colouring): HTMLElement {
  const [low, high] = colouring.range ?? [0, 1];
  const bar = h("div", {
    class: "colour-bar",
    role: "img",
    "aria-label": `Colours from ${short(low)} to ${short(high)}`,
  });
  bar.style.backgroundImage = `linear-gradient(to right, ${PALETTES[model.theme.value].numbers.join(", ")})`;
  return h(
    "div",
    { testid: "legend-numbers" },
    bar,
    h(
      "div",
      { class: "colour-ends" },
      h("span", { text: low === high ? `all ${short(low)}` : short(low) }),
      low !== high && h("span", { text: short(high) }),
    ),
  );
}
