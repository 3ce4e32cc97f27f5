/** Small charts as SVG. What they show is also said in words, by whoever uses them. */

import type { QualityPoint } from "../logic/types";
import { svg } from "./dom";

/** AUC over the number of answers with the band of its interval, beside the Euclidean distance. */
export function qualityChart(points: QualityPoint[], words: string): SVGSVGElement {
  const width = 320;
  const height = 84;
  const pad = 6;
  const left = 38;
  const lows = points.flatMap((point) => [point.low, point.euclidean]);
  const highs = points.flatMap((point) => [point.high, point.euclidean]);
  const least = Math.max(0, Math.min(...lows) - 0.02);
  const most = Math.min(1, Math.max(...highs) + 0.02);
  const first = points[0].answers;
  const last = points[points.length - 1].answers;
  const x = (answers: number): number =>
    last === first ? width / 2 : left + ((answers - first) / (last - first)) * (width - left - pad);
  const y = (auc: number): number =>
    pad + (1 - (auc - least) / (most - least || 1)) * (height - 2 * pad);
  const line = (value: (point: QualityPoint) => number): string =>
    points.map((point) => `${x(point.answers).toFixed(1)},${y(value(point)).toFixed(1)}`).join(" ");
  const upper = line(({ high }) => high);
  const lower = line(({ low }) => low)
    .split(" ")
    .reverse()
    .join(" ");
  const end = points[points.length - 1];
  return svg(
    "svg",
    { class: "chart quality", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words },
    svg("text", { x: pad, y: "13", text: most.toFixed(2) }),
    svg("text", { x: pad, y: height - 5, text: least.toFixed(2) }),
    points.length > 1 && svg("polygon", { class: "band", points: `${upper} ${lower}` }),
    svg("line", {
      class: "euclidean",
      x1: left,
      x2: width - pad,
      y1: y(end.euclidean).toFixed(1),
      y2: y(end.euclidean).toFixed(1),
    }),
    points.length > 1 && svg("polyline", { class: "learned", points: line(({ auc }) => auc) }),
    svg("line", {
      class: "error",
      x1: x(end.answers).toFixed(1),
      x2: x(end.answers).toFixed(1),
      y1: y(end.high).toFixed(1),
      y2: y(end.low).toFixed(1),
    }),
    svg("circle", {
      class: "learned-end",
      cx: x(end.answers).toFixed(1),
      cy: y(end.auc).toFixed(1),
      r: "4",
    }),
  );
}
