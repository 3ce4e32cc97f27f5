/** What a person can do with answers that were given: look at them again, flip and delete them. */

import { askFirst, change, nameOf } from "./actions";
import { api } from "./api";
import type { Answered, Same, Word } from "./logic/types";
import { counted } from "./logic/words";
import type { Asked, Model } from "./model";
import { announce } from "./notices";
import { myName } from "./who";

export const SAME_OF: Record<"same" | "different" | "unsure", Same> = {
  same: true,
  different: false,
  unsure: null,
};

function both(model: Model, { left, right }: Answered): string {
  return `${nameOf(model, left)} and ${nameOf(model, right)}`;
}

/** Put an answered pair on the card and on the map; the next answer takes its place. */
export function showAnswered(model: Model, item: Answered): void {
  const { left, right, said } = item;
  const asked: Asked = {
    left,
    right,
    origin: "list",
    before: said === "several" ? "same" : said,
    title: "Answered before",
    hint: `${heard(item)} Your next answer takes its place, Esc leaves it.`,
  };
  askFirst(model, asked);
  announce(`${asked.title}: ${both(model, item)}. ${asked.hint}`);
}

/** "Ann said same, Bob different." */
export function heard({ voices, said, by }: Answered): string {
  if (voices.length > 0) {
    const parts = voices.map((voice) => `${voice.by} said ${voice.said}`);
    return `${parts.join(", ")}.`;
  }
  return `${by ?? "It"} ${by === null ? "was said to be" : "said"} ${said}.`;
}

/** Say something else of a pair than was said. */
export async function sayInstead(model: Model, item: Answered, word: Word): Promise<void> {
  if (word !== "same" && word !== "different" && word !== "unsure") return;
  const { left, right, said } = item;
  const before = said === "several" ? "nothing" : said;
  await change(
    model,
    () => api.answer(left, right, SAME_OF[word], "list", before),
    () => `${both(model, item)}: ${word} now.`,
    () => undefined,
    `${word}: ${both(model, item)}`,
  );
}

export async function deleteAnswer(model: Model, item: Answered): Promise<void> {
  const { left, right, number, said } = item;
  await change(
    model,
    () =>
      number === 0
        ? api.withdraw(left, right, said === "several" ? "nothing" : said)
        : api.withdrawEntry(number),
    (state) => `Deleted. ${counted(state.n_answers, "answer")}.`,
    () => undefined,
    `delete: ${both(model, item)}`,
  );
}

/** The name under which answers of this page are given. */
export function answersAs(model: Model): string | null {
  return myName() ?? model.lesson.by;
}
