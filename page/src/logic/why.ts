/** Why two records are near or far: texts with the words that matter, and colours of pixels. */

import type { WhyWord } from "./types";

/** A part of a text, and what it does: its share in the squared distance, 0 if it says nothing. */
export type MarkedPart = [string, number];

const WORD = /[\p{L}\p{N}_]+/gu;

/** A text in parts, with the words that matter marked; upper case makes no difference. */
export function markedWords(
  text: string,
  words: readonly WhyWord[],
  side: "left" | "right",
): MarkedPart[] {
  const shares = new Map(
    words
      .filter(({ where }) => where === side || where === "both")
      .map(({ text: word, share }) => [word.toLowerCase(), share]),
  );
  const parts: MarkedPart[] = [];
  let end = 0;
  for (const { 0: word, index } of text.matchAll(WORD)) {
    const share = shares.get(word.toLowerCase());
    if (share === undefined) continue;
    if (index > end) parts.push([text.slice(end, index), 0]);
    parts.push([word, share]);
    end = index + word.length;
  }
  if (end < text.length) parts.push([text.slice(end), 0]);
  return parts;
}

type Colour = readonly [number, number, number];

/** What brings apart is orange and what brings together blue, the stronger the more. */
const APART: Colour = [222, 92, 0];
const TOGETHER: Colour = [0, 110, 190];
const MOST_OPAQUE = 215;

/** Red, green, blue and opacity of each pixel. */
export function heatPixels(shares: readonly number[]): Uint8ClampedArray<ArrayBuffer> {
  const most = Math.max(...shares.map(Math.abs), Number.MIN_VALUE);
  const pixels = new Uint8ClampedArray(4 * shares.length);
  shares.forEach((share, k) => {
    const strength = Math.sqrt(Math.abs(share) / most);
    pixels.set([...(share > 0 ? APART : TOGETHER), MOST_OPAQUE * strength], 4 * k);
  });
  return pixels;
}

/** How the distance would change without an answer, in words. */
export function changeWithout(change: number): string {
  const size = Math.abs(change);
  const shown = size < 1 ? size.toFixed(1) : String(Math.round(size));
  return `without it ${shown} % ${change > 0 ? "farther apart" : "nearer"}`;
}
