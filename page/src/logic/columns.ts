/** Which columns are learned from, in words and as what is asked of the server. */

import type { Column } from "./types";
import { counted } from "./words";

/** Whether columns are brought to one scale: always, never, or where their units differ much. */
export type Scale = "auto" | "yes" | "no";

export function chosen(columns: readonly Column[], ticked: ReadonlySet<string>): string[] {
  return columns.filter(({ name, can }) => can && ticked.has(name)).map(({ name }) => name);
}

export function standardiseOf(scale: Scale): boolean | null {
  return scale === "auto" ? null : scale === "yes";
}

/** What a choice of columns means, and what speaks against it. */
export function aboutChoice(columns: readonly Column[], ticked: ReadonlySet<string>): string {
  const names = chosen(columns, ticked);
  if (names.length === 0) return "Choose a column at least.";
  const doubtful = columns.filter(({ name, why }) => names.includes(name) && DOUBTS.has(why));
  const said = `Learned from ${counted(names.length, "column")}.`;
  if (doubtful.length === 0) return said;
  const shown = doubtful.map(({ name, why }) => `“${name}” ${why}`).join(", ");
  return `${said} Are you sure? ${shown}.`;
}

const DOUBTS = new Set(["names rows", "counts rows", "looks like classes"]);

/** What is said once other columns are learned from. */
export function changed(n_columns: number, n_answers: number): string {
  const kept = n_answers === 1 ? "The answer is kept." : `All ${n_answers} answers are kept.`;
  return `Learned from ${counted(n_columns, "column")} now.${n_answers === 0 ? "" : ` ${kept}`}`;
}
