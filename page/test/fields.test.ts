import { expect, it } from "vitest";
import { differs, gistOf, isLong, isMuch, markedParts, pairedFields } from "../src/logic/fields";
import type { DataRecord, Field } from "../src/logic/types";
import { sideFor } from "../src/picture_cache";

const field = (name: string, value: string, more: Partial<Field> = {}): Field => ({
  name,
  value,
  cut: false,
  ...more,
});
const record = (...fields: Field[]): DataRecord => ({ row: 0, id: "7", fields, image: false });

it("fields of two records are paired by name, in one order", () => {
  const pairs = pairedFields(
    record(field("a", "1"), field("b", "2")),
    record(field("a", "1"), field("b", "3", { parts: [["3", true]] }), field("c", "")),
  );
  expect(pairs.map(({ name }) => name)).toEqual(["a", "b", "c"]);
  expect(pairs.map(differs)).toEqual([false, true, false]);
  expect(pairs[2].left).toBe(undefined);
});

it("a long text has a line of its own, and a very long one is shown in part", () => {
  expect(isLong(field("a", "x".repeat(60)), undefined)).toBe(false);
  expect(isLong(field("a", "short"), field("a", "x".repeat(61)))).toBe(true);
  expect(isMuch(field("a", "x".repeat(400)))).toBe(false);
  expect(isMuch(field("a", "line\n".repeat(20)))).toBe(true);
  expect(isMuch(field("a", "x", { cut: true }))).toBe(true);
});

it("marks are left out of a long text that is another one altogether", () => {
  const parts = (n: number, differing: number): [string, boolean][] => [
    ["x".repeat(differing), true],
    ["y".repeat(n - differing), false],
  ];
  const shown = (n: number, differing: number): number =>
    markedParts(field("a", "x".repeat(n), { parts: parts(n, differing) })).length;
  expect(shown(300, 200)).toBe(1);
  expect(shown(300, 100)).toBe(2);
  expect(shown(20, 19)).toBe(2);
});

it("a record on a line is its texts, not its numbers nor its name", () => {
  const told = record(field("id", "7"), field("town", "Łódź\n"), field("age", "41", { rank: 0.5 }));
  expect(gistOf(told)).toBe("Łódź");
  expect(gistOf(record(field("age", "41", { rank: 0.5 })))).toBe("age 41");
  expect(gistOf(record(field("text", "word ".repeat(100)))).length <= 161).toBe(true);
});

it("parts of a line keep their own direction beside words from right to left", () => {
  const mixed = record(field("title", "ספר"), field("sold", "2025-06-18"));
  expect(gistOf(mixed)).toBe("\u2068ספר\u2069 · \u20682025-06-18\u2069");
  expect(gistOf(record(field("a", "b"), field("c", "d")))).toBe("b · d");
});

it("pictures are asked for as large as they are sharp", () => {
  expect([
    sideFor(48, 1),
    sideFor(200, 1),
    sideFor(200, 2),
    sideFor(400, 2),
    sideFor(4000, 3),
  ]).toEqual([160, 400, 400, 800, 1600]);
});

it("amounts are not marked digit by digit", () => {
  const height = field("height", "1.25", { parts: [["1.25", true]], rank: 0.2 });
  expect(markedParts(height)).toEqual([["1.25", false]]);
  expect(differs({ name: "height", left: height, right: height })).toBe(false);
});
