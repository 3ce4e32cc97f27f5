/** Filters by column, by group, and by doubt. */

import { api } from "../api";
import { giveKeysBack } from "../keys";
import { countCategories } from "../logic/colours";
import {
  type ColumnFilter,
  conditionInWords,
  type SearchColumn,
  withCondition,
  withoutCondition,
} from "../logic/finding";
import { short, whole } from "../logic/words";
import type { Model } from "../model";
import { notifyProblem } from "../notices";
import { showAll } from "../signal";
import { h, replace } from "./dom";

interface FilterPanel {
  element: HTMLElement;
  opened: () => void;
}

export function filterPanel(model: Model): FilterPanel {
  const select = h("select", { testid: "filter-column", "aria-label": "Column" });
  const editor = h("div", { class: "filter-editor", testid: "filter-editor" });
  const conditions = h("ul", {
    class: "conditions",
    testid: "conditions",
    "aria-label": "Filters",
  });
  const groups = h("fieldset", { class: "filter-groups", testid: "filter-groups" });
  const element = h(
    "div",
    { id: "filter-panel", class: "filter-panel", hidden: true, testid: "filter-panel" },
    h("label", { class: "tool" }, "Column", select),
    editor,
    conditions,
    groups,
    doubtBox(model),
  );
  let columns: SearchColumn[] = [];
  let asked = false;

  const opened = (): void => {
    select.focus();
    if (asked) return;
    asked = true;
    api.columns().then((found) => {
      columns = found;
      const option = ({ key, name }: SearchColumn): HTMLElement =>
        h("option", { value: key, text: name });
      replace(select, h("option", { value: "", text: "choose one" }), ...columns.map(option));
    }, notifyProblem);
  };
  giveKeysBack(select);
  select.addEventListener("change", () => {
    const column = columns.find(({ key }) => key === select.value);
    replace(editor);
    if (column !== undefined) void showEditor(model, column, editor);
  });
  model.filter.show(({ where }) => {
    const items = where.map((condition) => {
      const words = conditionInWords(condition);
      return h(
        "li",
        {},
        h("span", { text: words, dir: "auto" }),
        h("button", {
          type: "button",
          class: "icon",
          text: "×",
          "aria-label": `Remove ${words}`,
          testid: "condition-remove",
          on: {
            click: () => model.filter.set(withoutCondition(model.filter.value, condition.key)),
          },
        }),
      );
    });
    replace(conditions, ...items);
  });
  showAll([model.groups, model.filter], () => showGroupBoxes(model, groups));
  return { element, opened };
}

async function showEditor(model: Model, column: SearchColumn, box: HTMLElement): Promise<void> {
  const apply = (condition: Omit<ColumnFilter, "key" | "name">): void => {
    const { key, name } = column;
    model.filter.set(withCondition(model.filter.value, { key, name, ...condition }));
  };
  const drop = (): void => model.filter.set(withoutCondition(model.filter.value, column.key));
  if (column.kind === "text") return replace(box, wordsForm(column, apply, drop));
  try {
    const colouring = await api.colouring(column.key);
    const { categories, range } = colouring;
    if (categories === null) replace(box, rangeForm(column, range ?? [0, 0], apply, drop));
    else replace(box, kindBoxes(model, column, countCategories(colouring).counts, apply, drop));
  } catch (problem) {
    notifyProblem(problem);
  }
}

type Apply = (condition: Omit<ColumnFilter, "key" | "name">) => void;

function form(apply: () => void, ...children: HTMLElement[]): HTMLElement {
  return h(
    "form",
    {
      on: {
        submit: (event) => {
          event.preventDefault();
          apply();
        },
      },
    },
    ...children,
    h("button", { type: "submit", class: "small", text: "Apply", testid: "filter-apply" }),
  );
}

function wordsForm({ name }: SearchColumn, apply: Apply, drop: () => void): HTMLElement {
  const input = h("input", {
    type: "text",
    "aria-label": `Words in ${name}`,
    placeholder: "has these words",
    maxlength: "500",
    dir: "auto",
    testid: "filter-words",
  });
  return form(() => {
    const text = input.value.trim();
    if (text === "") drop();
    else apply({ text });
  }, input);
}

function rangeForm(
  { name }: SearchColumn,
  [least, most]: [number, number],
  apply: Apply,
  drop: () => void,
): HTMLElement {
  const field = (label: string, placeholder: number, testid: string): HTMLInputElement =>
    h("input", {
      type: "number",
      step: "any",
      "aria-label": `${name} ${label}`,
      placeholder: short(placeholder),
      testid,
    });
  const low = field("from", least, "filter-low");
  const high = field("to", most, "filter-high");
  const end = (input: HTMLInputElement, side: "low" | "high"): Record<string, number> =>
    input.value === "" ? {} : { [side]: Number(input.value) };
  return form(
    () => {
      const ends = { ...end(low, "low"), ...end(high, "high") };
      if (Object.keys(ends).length === 0) drop();
      else apply(ends);
    },
    low,
    h("span", { text: "to" }),
    high,
  );
}

function kindBoxes(
  model: Model,
  { key, name }: SearchColumn,
  counts: { category: number; name: string; count: number }[],
  apply: Apply,
  drop: () => void,
): HTMLElement {
  const before = model.filter.value.where.find((one) => one.key === key)?.kinds ?? [];
  const chosen = new Map(before.map((kind) => [kind.number, kind.name]));
  const boxes = counts.map(({ category, name: kind, count }) => {
    const box = h("input", { type: "checkbox", checked: chosen.has(category) });
    box.addEventListener("change", () => {
      if (box.checked) chosen.set(category, kind);
      else chosen.delete(category);
      if (chosen.size === 0) drop();
      else apply({ kinds: [...chosen].map(([number, text]) => ({ number, name: text })) });
    });
    return checkLine(box, kind, count);
  });
  return h("fieldset", { class: "kinds" }, h("legend", { class: "unseen", text: name }), ...boxes);
}

function checkLine(box: HTMLInputElement, text: string, count: number): HTMLElement {
  return h(
    "label",
    { class: "check" },
    box,
    h("span", { text, dir: "auto" }),
    h("span", { class: "legend-count", text: whole(count) }),
  );
}

function showGroupBoxes(model: Model, box: HTMLElement): void {
  const all = model.groups.value?.groups ?? [];
  box.hidden = all.length === 0;
  if (box.contains(document.activeElement)) return;
  const { groups } = model.filter.value;
  const lines = all.map(({ number, name, likely }) => {
    const checked = groups.some((one) => one.number === number);
    const check = h("input", { type: "checkbox", checked });
    check.addEventListener("change", () => {
      const filter = model.filter.value;
      const others = filter.groups.filter((one) => one.number !== number);
      const chosen = check.checked ? [...others, { number, name }] : others;
      model.filter.set({ ...filter, groups: chosen });
    });
    return checkLine(check, name, likely);
  });
  replace(box, h("legend", { text: "Groups" }), ...lines);
}

function doubtBox(model: Model): HTMLElement {
  const box = h("input", { type: "checkbox", testid: "filter-doubtful" });
  box.addEventListener("change", () => {
    model.filter.set({ ...model.filter.value, doubtful: box.checked });
  });
  model.filter.show(({ doubtful }) => {
    box.checked = doubtful;
  });
  return h(
    "label",
    {
      class: "check",
      title: "It is unsure whether they are the same as most of their neighbours",
    },
    box,
    "Doubtful in the learned metric",
  );
}
