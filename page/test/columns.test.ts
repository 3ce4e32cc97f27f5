import { expect, it } from "vitest";
import { aboutChoice, changed, chosen, standardiseOf } from "../src/logic/columns";
import type { Column } from "../src/logic/types";

const columns: Column[] = [
  { name: "id", kind: "text", learned: false, why: "ids", can: false },
  { name: "size", kind: "number", learned: true, why: "", can: true },
  { name: "label", kind: "number", learned: false, why: "looks like classes", can: true },
];

it("only columns that can be are chosen, in their order", () => {
  expect(chosen(columns, new Set(["label", "id", "size"]))).toEqual(["size", "label"]);
});

it("what speaks against a choice is said", () => {
  expect(aboutChoice(columns, new Set())).toBe("Choose a column at least.");
  expect(aboutChoice(columns, new Set(["size"]))).toBe("Learned from 1 column.");
  expect(aboutChoice(columns, new Set(["size", "label"]))).toMatch(
    /2 columns.*sure.*“label” looks/,
  );
});

it("answers are said to be kept", () => {
  expect(changed(1, 0)).toBe("Learned from 1 column now.");
  expect(changed(2, 1)).toMatch(/2 columns now\. The answer is kept\./);
  expect(changed(2, 7)).toMatch(/All 7 answers are kept\./);
});

it("scales", () => {
  expect((["auto", "yes", "no"] as const).map(standardiseOf)).toEqual([null, true, false]);
});
