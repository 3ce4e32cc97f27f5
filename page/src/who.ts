/** Who answers on this page: a name that the browser remembers. Without one, answers go without. */

import { remember, remembered } from "./storage";

const KEPT = "name";
export const LONGEST_NAME = 60;

/** The name that answers are given under, if there is one. */
export function myName(): string | undefined {
  return remembered(KEPT) || undefined;
}

export function callMe(name: string): void {
  remember(KEPT, name.trim().slice(0, LONGEST_NAME));
}
