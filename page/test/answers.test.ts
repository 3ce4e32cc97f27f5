import { expect, test } from "vitest";
import {
  momentInWords,
  otherWords,
  saidInWords,
  undoneInWords,
  whoAndWhen,
} from "../src/logic/answers";
import type { Answered } from "../src/logic/types";

const item: Answered = {
  number: 3,
  left: 1,
  right: 2,
  ids: ["a", "b"],
  n_pairs: 1,
  n_rows: 2,
  said: "different",
  by: "Ann",
  at: "2026-11-17T14:03:09.120+00:00",
  voices: [],
};
const soon = new Date("2026-11-17T14:04:00Z");

test("what was said, by whom and when", () => {
  expect(saidInWords(item)).toBe("different");
  expect(saidInWords({ ...item, n_pairs: 6, n_rows: 5 })).toBe("different, 6 pairs of 5 records");
  expect(whoAndWhen(item, soon)).toMatch(/^Ann, \d\d:03$/);
  expect(whoAndWhen({ ...item, by: null }, soon)).toMatch(/^\d\d:03$/);
  expect(whoAndWhen({ ...item, number: 0 }, soon)).toBe("known from the start");
  expect(momentInWords(item.at, new Date("2026-12-24T14:04:00Z"))).toMatch(/Nov 2026, \d\d:03$/);
  expect(momentInWords("rubbish", soon)).toBe("");
});

test("what may be said instead", () => {
  expect(otherWords(item)).toEqual(["same"]);
  expect(otherWords({ ...item, said: "same" })).toEqual(["different"]);
  expect(otherWords({ ...item, said: "unsure" })).toEqual(["same", "different"]);
  expect(otherWords({ ...item, n_pairs: 4 })).toEqual([]);
});

test("what was undone", () => {
  const change = { left: 1, right: 2, before: "same", now: "nothing" } as const;
  expect(undoneInWords(change, 1)).toBe("Undone: same was said of these two.");
  expect(undoneInWords({ ...change, now: "different" }, 1)).toBe(
    "Undone: same was said of these two. Different counts again.",
  );
  expect(undoneInWords({ ...change, before: "nothing", now: "same" }, 1)).toBe(
    "Undone: same counts again of these two.",
  );
  expect(undoneInWords(change, 6)).toContain("6 pairs");
});
