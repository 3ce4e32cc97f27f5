/** What further answers are worth, and about how many. */

import type { Outlook } from "../logic/types";
import { fixed } from "../logic/words";
import { h, svg } from "./dom";

export function outlookLines(outlook: Outlook): (HTMLElement | SVGElement)[] {
  const { advice, reason, curve } = outlook;
  const sentence = `${advice[0].toUpperCase()}${advice.slice(1)}: ${reason}`;
  return [
    h("h3", { text: "More answers?" }),
    ...(curve.length > 1 ? [outlookChart(outlook)] : []),
    h("p", { class: "hint", text: sentence, testid: "outlook-said" }),
  ];
}

/** The rise of pair AUC that is expected, over the number of answers, with a band for the next ten. */
function outlookChart({ curve, low, high }: Outlook): SVGSVGElement {
  const width = 320;
  const height = 64;
  const pad = 6;
  const left = 48;
  const [first, firstRise] = curve[0];
  const [last, rise] = curve[curve.length - 1];
  const [next] = curve[1];
  const top = Math.max(rise, high ?? 0, 0.01);
  const x = (n: number): string =>
    (left + ((n - first) / (last - first)) * (width - left - pad)).toFixed(1);
  const y = (value: number): string => (pad + (1 - value / top) * (height - 2 * pad)).toFixed(1);
  const at = (n: number, value: number): string => `${x(n)},${y(value)}`;
  const words = `Pair AUC is expected to rise by ${fixed(rise)} from ${first} to ${last} answers.`;
  return svg(
    "svg",
    { class: "chart outlook", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words },
    svg("text", { x: pad, y: "13", text: `+${top.toFixed(3)}` }),
    svg("text", { x: pad, y: height - 5, text: "now" }),
    low !== null &&
      high !== null &&
      svg("polygon", {
        class: "band",
        points: `${at(first, firstRise)} ${at(next, high)} ${at(next, low)}`,
      }),
    svg("polyline", {
      class: "learned",
      points: curve.map(([n, value]) => at(n, value)).join(" "),
    }),
  );
}
