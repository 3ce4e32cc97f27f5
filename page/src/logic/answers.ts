/** Answers that were given, in words. */

import type { Answered, Change, Word } from "./types";
import { counted } from "./words";

const SAID: Record<Word | "several", string> = {
  same: "same",
  different: "different",
  unsure: "unsure",
  several: "same and different",
  nothing: "nothing",
};

/** "different", or of more than one pair "different, 6 pairs of 5 records". */
export function saidInWords({ said, n_pairs, n_rows }: Answered): string {
  if (n_pairs === 1) return SAID[said];
  return `${SAID[said]}, ${counted(n_pairs, "pair")} of ${counted(n_rows, "record")}`;
}

/** "Ann, today 14:03"; what was known from the start has neither. */
export function whoAndWhen({ by, at, number }: Answered, now: Date): string {
  if (number === 0) return "known from the start";
  return [by, momentInWords(at, now)].filter((part) => part).join(", ");
}

/** The time of day, and the day unless it is today. */
export function momentInWords(at: string | null, now: Date): string {
  const moment = at === null ? Number.NaN : Date.parse(at);
  if (Number.isNaN(moment)) return "";
  const then = new Date(moment);
  const time = then.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  if (then.toDateString() === now.toDateString()) return time;
  const day = then.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
  return `${day}, ${time}`;
}

/** What may be said in place of an answer to one pair. */
export function otherWords({ said, n_pairs }: Answered): ("same" | "different" | "unsure")[] {
  if (n_pairs > 1) return [];
  if (said === "same") return ["different"];
  return said === "different" ? ["same"] : ["same", "different"];
}

/** What a step back has taken away or brought back. */
export function undoneInWords({ before, now }: Change, n: number): string {
  const rest = n > 1 ? ` So it was of ${counted(n, "pair")}, of which this is the first.` : "";
  if (before === "nothing") return `Undone: ${SAID[now]} counts again of these two.${rest}`;
  const again = now === "nothing" ? "" : ` ${capital(SAID[now])} counts again.`;
  return `Undone: ${SAID[before]} was said of these two.${again}${rest}`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
