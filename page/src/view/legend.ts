/** What the colours and lines mean. */

import { categoryColour, countCategories, PALETTES } from "../logic/colours";
import { GROUPS } from "../logic/grouping";
import { MOST_LINES } from "../logic/links";
import type { Colouring } from "../logic/types";
import { short, shownCategory, whole } from "../logic/words";
import type { Model } from "../model";
import { showAll } from "../signal";
import { byId, h, replace, swatch } from "./dom";
import { foundGroups } from "./groups_legend";

const MOST_CATEGORIES = 12;
/** In smaller maps the legend is folded at first. */
const SMALL_PX = 520;

export function showLegend(model: Model): void {
  const roomy = byId("frame").clientWidth > SMALL_PX && byId("frame").clientHeight > SMALL_PX;
  const colours = h("details", { open: roomy });
  const lines = h("div", { class: "legend-lines" });
  const found = foundGroups(model);
  replace(byId("legend"), colours, lines);

  showAll([model.colouring, model.theme], () => {
    const colouring = model.colouring.value;
    if (colouring === null) return replace(colours);
    if (colouring.key === GROUPS) {
      // Its own part of the legend follows what is chosen there.
      if (!colours.contains(found)) {
        replace(colours, heading(colouring.name), found);
        colours.open = true; // whoever wants groups wants to name them
      }
      return;
    }
    replace(
      colours,
      heading(colouring.name),
      ...(colouring.kind === "categories"
        ? categories(model, colouring)
        : [numbers(model, colouring)]),
    );
  });

  showAll([model.known, model.showLinks], () => {
    const known = model.known.value;
    const there = known !== null && known.must_link.length + known.cannot_link.length > 0;
    lines.hidden = !there || !model.showLinks.value;
    if (known === null) return;
    replace(
      lines,
      lineKey("must", "same", known.must_link.length / 2),
      lineKey("cannot", "different", known.cannot_link.length / 2),
    );
  });
}

function heading(name: string): HTMLElement {
  return h("summary", { dir: "auto" }, h("h3", { text: name }));
}

function lineKey(kind: "must" | "cannot", label: string, n: number): HTMLElement {
  const step = Math.ceil(n / MOST_LINES);
  const part = step > 1 ? `, 1 of ${whole(step)} drawn` : "";
  return h(
    "p",
    { class: "legend-line" },
    h("span", { class: `line ${kind}`, "aria-hidden": "true" }),
    h("span", { class: "legend-name", text: `${label}${part}` }),
    h("span", { class: "legend-count", text: whole(n) }),
  );
}

function categories(model: Model, colouring: Colouring): HTMLElement[] {
  const { counts, unknown } = countCategories(colouring);
  const theme = model.theme.value;
  const list = h("ul", { testid: "legend-categories" });
  const largest = [...counts].sort((a, b) => b.count - a.count).slice(0, MOST_CATEGORIES);
  const shown = new Set(largest);
  for (const entry of counts.filter((candidate) => shown.has(candidate))) {
    const { category, count } = entry;
    const name = shownCategory(colouring.key, entry.name);
    list.append(
      h(
        "li",
        {},
        h(
          "button",
          {
            type: "button",
            on: {
              mouseenter: () => model.category.set(category),
              mouseleave: () => model.category.set(null),
              focus: () => model.category.set(category),
              blur: () => model.category.set(null),
            },
          },
          swatch(categoryColour(theme, category)),
          h("span", { class: "legend-name", text: name, dir: "auto", title: name }),
          h("span", { class: "legend-count", text: whole(count) }),
        ),
      ),
    );
  }
  const rest = counts.length - shown.size;
  const extra: HTMLElement[] = [];
  if (rest > 0) extra.push(h("p", { class: "legend-rest", text: `and ${whole(rest)} more` }));
  if (unknown > 0) {
    extra.push(
      h(
        "p",
        { class: "legend-line" },
        swatch(PALETTES[theme].unknown),
        h("span", { class: "legend-name", text: colouring.key === "known" ? "not known" : "none" }),
        h("span", { class: "legend-count", text: whole(unknown) }),
      ),
    );
  }
  return [list, ...extra];
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
