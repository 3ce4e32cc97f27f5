import { expect, it } from "vitest";
import { withAnswer } from "../src/logic/known";

const KNOWN = {
  version: 4,
  must_link: [1, 2],
  cannot_link: [3, 4],
  unsure: [5, 6],
};

it("adds an answer to what is known", () => {
  const after = withAnswer(KNOWN, { left: 7, right: 8 }, false, 5);
  expect(after).toEqual({ ...KNOWN, version: 5, cannot_link: [3, 4, 7, 8] });
  expect(KNOWN.cannot_link).toEqual([3, 4]);
});

it("lets the last answer of a pair count, in either order", () => {
  const after = withAnswer(KNOWN, { left: 2, right: 1 }, null, 5);
  expect(after.must_link).toEqual([]);
  expect(after.unsure).toEqual([5, 6, 2, 1]);
});
