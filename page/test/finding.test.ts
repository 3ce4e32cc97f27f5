import { describe, expect, it } from "vitest";
import {
  decodeMatches,
  type Filter,
  filterInWords,
  isEmpty,
  NO_FILTER,
  rowsOf,
  searchOf,
  withCondition,
  withoutCondition,
} from "../src/logic/finding";

const FILTER: Filter = {
  text: " pizza ",
  where: [
    { key: "column-1", name: "town", kinds: [{ number: 2, name: "Graz" }] },
    { key: "feature-0", name: "price", low: 1, high: 2.5 },
    { key: "column-0", name: "note", text: "old" },
  ],
  groups: [{ number: 2, name: "group 3" }],
  doubtful: true,
};

describe("what is looked for", () => {
  it("is empty until something is wanted", () => {
    expect(isEmpty(NO_FILTER)).toBe(true);
    expect(isEmpty({ ...NO_FILTER, text: "  " })).toBe(true);
    expect(isEmpty({ ...NO_FILTER, doubtful: true })).toBe(false);
  });

  it("is said in words", () => {
    expect(filterInWords(FILTER)).toBe(
      "“pizza”, town: Graz, price 1 to 2.5, note has “old”, in group 3, doubtful",
    );
    const from = withCondition(NO_FILTER, { key: "a", name: "a", low: 3 });
    expect(filterInWords(from)).toBe("a from 3");
    expect(filterInWords(withCondition(from, { key: "a", name: "a", high: 4 }))).toBe("a up to 4");
    expect(withoutCondition(from, "a")).toEqual(NO_FILTER);
  });

  it("is sent without names", () => {
    expect(searchOf(FILTER)).toEqual({
      text: " pizza ",
      where: [
        { key: "column-1", kinds: [2] },
        { key: "feature-0", low: 1, high: 2.5 },
        { key: "column-0", text: "old" },
      ],
      groups: [2],
      doubtful: true,
    });
  });

  it("comes back as a bit for every row", () => {
    const head = new TextEncoder().encode('{"version":3,"notes":["long"]}');
    const content = new Uint8Array(4 + head.length + 2);
    new DataView(content.buffer).setUint32(0, head.length, true);
    content.set(head, 4);
    content.set([0b10000001, 0b10], 4 + head.length);
    const found = decodeMatches(content.buffer, 10);
    expect(found.n).toBe(3);
    expect(found.notes).toEqual(["long"]);
    expect(rowsOf(found)).toEqual([0, 7, 9]);
  });
});
