/** Dark or light: as the system has it, until somebody chooses. */

import { inkOn, PALETTES, type Theme } from "./logic/colours";
import { Signal } from "./signal";
import { remember, remembered } from "./storage";

const SYSTEM = window.matchMedia("(prefers-color-scheme: dark)");

function systemTheme(): Theme {
  return SYSTEM.matches ? "dark" : "light";
}

export function createTheme(): Signal<Theme> {
  const chosen = remembered("theme");
  const isChosen = chosen === "dark" || chosen === "light";
  const theme = new Signal<Theme>(isChosen ? chosen : systemTheme());
  SYSTEM.addEventListener("change", () => {
    if (remembered("theme") === null) theme.set(systemTheme());
  });
  theme.show((name) => {
    const { dataset, style } = document.documentElement;
    dataset.theme = name;
    PALETTES[name].categories.forEach((colour, k) => {
      style.setProperty(`--group-${k}`, colour);
      style.setProperty(`--ink-${k}`, inkOn(colour));
    });
  });
  return theme;
}

export function toggleTheme(theme: Signal<Theme>): void {
  const other = theme.value === "dark" ? "light" : "dark";
  remember("theme", other);
  theme.set(other);
}

/** The colour of a group in the theme that there is, and that of what is written on it. */
export function groupColour(number: number, kind: "group" | "ink" = "group"): string {
  return `var(--${kind}-${number % PALETTES.light.categories.length})`;
}

const colours = new Map<string, string>();

/** A colour of the style sheet, read once for each theme: frames of an animation ask for it. */
export function cssColour(name: string): string {
  const id = `${document.documentElement.dataset.theme} ${name}`;
  let colour = colours.get(id);
  if (colour === undefined) {
    colour = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
    colours.set(id, colour);
  }
  return colour;
}
