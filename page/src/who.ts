/** Who answers on this page: a name that the browser remembers. Without one, answers go without. */

import { remember, remembered } from "./storage";

const KEPT = "name";
const BROWSER = "browser";
export const LONGEST_NAME = 60;

/** Tells this browser from others: all its tabs are one person. */
const browser = remembered(BROWSER) || Math.random().toString(36).slice(2);
remember(BROWSER, browser);

export function myBrowser(): string {
  return browser;
}

/** The name that answers are given under, if there is one. */
export function myName(): string | undefined {
  return remembered(KEPT) || undefined;
}

let heard: () => void = () => undefined;

/** Whom to tell when the name changes. */
export function onNaming(listener: () => void): void {
  heard = listener;
}

export function callMe(name: string): void {
  remember(KEPT, name.trim().slice(0, LONGEST_NAME));
  heard();
}
