/** Which doubtful pairs are listed, and which of them is asked. */

import { isPair, saidOfPair } from "./known";
import type { Known, Pair, Review, ReviewPair } from "./types";

function isOpen(pair: Pair, known: Known | null): boolean {
  return known === null || saidOfPair(known, pair) === "nothing";
}

/** Pairs of a review of which nothing was said meanwhile. */
export function openPairs(review: Review | null, known: Known | null): ReviewPair[] {
  return review?.pairs.filter((pair) => isOpen(pair, known)) ?? [];
}

/** The next review says what is doubtful then; until that it is without a pair that was answered. */
export function withoutPair(review: Review, pair: Pair): Review {
  const pairs = review.pairs.filter((one) => !isPair(one, pair));
  return pairs.length < review.pairs.length ? { ...review, pairs } : review;
}

/** The pair that is asked stays until something is said of it, wherever it is listed by then. */
export function stillAsked(
  asked: ReviewPair | null,
  review: Review | null,
  known: Known | null,
): ReviewPair | null {
  if (asked !== null && isOpen(asked, known)) return asked;
  return openPairs(review, known)[0] ?? null;
}
