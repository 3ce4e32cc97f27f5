import { expect, it } from "vitest";
import { openPairs, stillAsked, withoutPair } from "../src/logic/review";
import type { Known, Review } from "../src/logic/types";

const KNOWN: Known = {
  version: 4,
  must_link: [],
  cannot_link: [],
  unsure: [],
};

const [FIRST, SECOND, THIRD] = [
  { left: 1, right: 2, chance: 0.5 },
  { left: 3, right: 4, chance: 0.4 },
  { left: 5, right: 6, chance: 0.9 },
];

const REVIEW: Review = {
  version: 4,
  pairs: [FIRST, SECOND],
  n_groups: 1,
  n_grouped: 2,
  groups: [],
  n_answers: 0,
  notes: [],
};

it("lists pairs of which nothing was said meanwhile, in either order", () => {
  expect(openPairs(null, KNOWN)).toEqual([]);
  expect(openPairs(REVIEW, null)).toEqual(REVIEW.pairs);
  expect(openPairs(REVIEW, { ...KNOWN, unsure: [2, 1] })).toEqual([SECOND]);
});

it("is without a pair that was answered", () => {
  expect(withoutPair(REVIEW, { left: 4, right: 3 }).pairs).toEqual([FIRST]);
  expect(withoutPair(REVIEW, THIRD)).toBe(REVIEW);
  expect(REVIEW.pairs).toHaveLength(2);
});

it("asks the first pair, and goes on asking it wherever it is listed later", () => {
  expect(stillAsked(null, null, null)).toBeNull();
  expect(stillAsked(null, REVIEW, KNOWN)).toBe(FIRST);
  expect(stillAsked(SECOND, REVIEW, KNOWN)).toBe(SECOND);
  expect(stillAsked(THIRD, REVIEW, KNOWN)).toBe(THIRD);
});

it("asks another pair when somebody has answered this one", () => {
  const known = { ...KNOWN, must_link: [1, 2], cannot_link: [6, 5] };
  expect(stillAsked(FIRST, REVIEW, known)).toBe(SECOND);
  expect(stillAsked(THIRD, { ...REVIEW, pairs: [] }, known)).toBeNull();
});
