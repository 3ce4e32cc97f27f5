import { describe, expect, it } from "vitest";
import {
  GROUPS,
  groupName,
  noGroups,
  partOfGroup,
  renamed,
  withChosen,
} from "../src/logic/grouping";
import { decodeLive } from "../src/logic/messages";
import type { Colouring, Grouping } from "../src/logic/types";

const grouping: Grouping = {
  number: 3,
  version: 7,
  said: "2 groups by k-means",
  reason: "They were chosen by how stable groups are.",
  groups: [
    { name: "cats", named: true, size: 3, medoid: 1 },
    { name: "group 2", named: false, size: 2, medoid: 4 },
  ],
  n_outliers: 1,
  waiting: [],
  notes: [],
};

const colouring: Colouring = {
  key: GROUPS,
  name: "groups found",
  kind: "categories",
  categories: ["group 1", "group 2"],
  range: null,
  number: 3,
  values: Float32Array.of(0, 0, 0, 1, 1, Number.NaN),
};

describe("withChosen", () => {
  it("has two at most, the last ones, and lets go of one that is chosen again", () => {
    expect(withChosen([], 4)).toEqual([4]);
    expect(withChosen([4], 2)).toEqual([4, 2]);
    expect(withChosen([4, 2], 7)).toEqual([2, 7]);
    expect(withChosen([4, 2], 4)).toEqual([2]);
  });
});

describe("partOfGroup", () => {
  it("is of the group that most rows are in", () => {
    expect(partOfGroup(colouring.values, [0, 1, 3, 5])).toEqual({
      group: 0,
      inside: 2,
      outside: 2,
    });
    expect(partOfGroup(colouring.values, [4])).toEqual({ group: 1, inside: 1, outside: 0 });
    // Of two with as many, the first.
    expect(partOfGroup(colouring.values, [3, 0])?.group).toBe(0);
  });

  it("is none of a whole group, nor of outliers", () => {
    expect(partOfGroup(colouring.values, [0, 1, 2])).toBeNull();
    expect(partOfGroup(colouring.values, [5])).toBeNull();
    expect(partOfGroup(colouring.values, [])).toBeNull();
  });
});

describe("names of groups", () => {
  it("follow what people say, for the colours that are there", () => {
    const now = renamed(colouring, grouping);
    expect(now.categories).toEqual(["cats", "group 2"]);
    expect(now.values).toBe(colouring.values);
    expect([0, 3, 5].map((row) => groupName(now, row))).toEqual(["cats", "group 2", null]);
  });

  it("are of no other colours", () => {
    expect(groupName({ ...colouring, key: "clusters" }, 0)).toBeNull();
    expect(groupName(null, 0)).toBeNull();
  });
});

describe("noGroups", () => {
  it("leaves all points without a colour", () => {
    const none = noGroups("groups found", 3);
    expect(none.values.every(Number.isNaN)).toBe(true);
    expect(none.values).toHaveLength(3);
    expect(none.categories).toEqual([]);
  });
});

describe("decodeLive", () => {
  it("reads groups", () => {
    const text = JSON.stringify({ type: "grouping", ...grouping });
    expect(decodeLive(text)).toEqual({ type: "grouping", grouping });
  });
});
