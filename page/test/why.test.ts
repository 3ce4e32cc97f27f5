import { describe, expect, test } from "vitest";
import { changeWithout, heatPixels, markedWords } from "../src/logic/why";

describe("words that matter", () => {
  const words = [
    { text: "grey", where: "left" as const, share: 0.4 },
    { text: "cat", where: "both" as const, share: -0.2 },
    { text: "naïve", where: "left" as const, share: 0.1 },
  ];

  test("are marked where they stand, whole and in any case", () => {
    expect(markedWords("The CAT is grey, greyer", words, "left")).toEqual([
      ["The ", 0],
      ["CAT", -0.2],
      [" is ", 0],
      ["grey", 0.4],
      [", greyer", 0],
    ]);
    expect(markedWords("naïve", words, "left")).toEqual([["naïve", 0.1]]);
  });

  test("are marked in the record that has them", () => {
    expect(markedWords("grey cat", words, "right")).toEqual([
      ["grey ", 0],
      ["cat", -0.2],
    ]);
    expect(markedWords("", words, "right")).toEqual([]);
  });
});

test("pixels are the more opaque the more they matter", () => {
  const pixels = heatPixels([0.4, 0.1, 0, -0.4]);
  expect(pixels).toHaveLength(16);
  expect([pixels[3], pixels[7], pixels[11], pixels[15]]).toEqual([215, 108, 0, 215]);
  expect(pixels[0]).toBeGreaterThan(pixels[2]);
  expect(pixels[12]).toBeLessThan(pixels[14]);
  expect([...heatPixels([0, 0])].filter((_, k) => k % 4 === 3)).toEqual([0, 0]);
});

test("changes are told in words", () => {
  expect(changeWithout(2.83)).toBe("without it 3 % farther apart");
  expect(changeWithout(-0.44)).toBe("without it 0.4 % nearer");
});
