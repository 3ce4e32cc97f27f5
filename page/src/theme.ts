/** Dark or light: as the system has it, until somebody chooses. */

import type { Theme } from "./logic/colours";
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
    document.documentElement.dataset.theme = name;
  });
  return theme;
}

export function toggleTheme(theme: Signal<Theme>): void {
  const other = theme.value === "dark" ? "light" : "dark";
  remember("theme", other);
  theme.set(other);
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
