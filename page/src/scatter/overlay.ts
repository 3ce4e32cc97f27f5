/** Lines between linked points below the points, and marks above them: two plain canvases. */

import { linkEnds } from "../logic/links";
import type { ScreenMap } from "../logic/screen";
import { toScreen } from "../logic/screen";

export interface LinkStyle {
  colour: string;
  dash: number[];
  width: number;
}

export interface Mark {
  row: number;
  colour: string;
  /** A letter or number beside the point. */
  label?: string;
  radius: number;
  dashed?: boolean;
}

export class Layer {
  private readonly context: CanvasRenderingContext2D;

  constructor(private readonly canvas: HTMLCanvasElement) {
    const context = canvas.getContext("2d");
    if (context === null) throw new Error("This browser has no 2D canvas.");
    this.context = context;
  }

  /** An empty canvas of the size of the view, in CSS pixels. */
  cleared(map: ScreenMap): CanvasRenderingContext2D {
    const ratio = window.devicePixelRatio;
    const width = Math.round(map.width * ratio);
    const height = Math.round(map.height * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.clearRect(0, 0, map.width, map.height);
    return this.context;
  }
}

let ends = new Float32Array(1024);

export function strokeLinks(
  context: CanvasRenderingContext2D,
  links: Uint32Array,
  positions: Float32Array,
  map: ScreenMap,
  style: LinkStyle,
): void {
  if (links.length === 0) return;
  if (ends.length < 2 * links.length) ends = new Float32Array(2 * links.length);
  const n = linkEnds(ends, links, positions, map);
  context.beginPath();
  for (let at = 0; at < n; at += 4) {
    context.moveTo(ends[at], ends[at + 1]);
    context.lineTo(ends[at + 2], ends[at + 3]);
  }
  context.strokeStyle = style.colour;
  context.lineWidth = style.width;
  context.setLineDash(style.dash);
  context.stroke();
  context.setLineDash([]);
}

export function strokeMarks(
  context: CanvasRenderingContext2D,
  marks: Mark[],
  positions: Float32Array,
  map: ScreenMap,
  halo: string,
): void {
  context.font = "600 12px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  for (const mark of marks) {
    const [x, y] = toScreen(map, positions[2 * mark.row], positions[2 * mark.row + 1]);
    context.beginPath();
    context.arc(x, y, mark.radius, 0, 2 * Math.PI);
    context.strokeStyle = halo;
    context.lineWidth = 5;
    context.stroke();
    context.strokeStyle = mark.colour;
    context.lineWidth = 2.25;
    context.setLineDash(mark.dashed ? [3, 3] : []);
    context.stroke();
    context.setLineDash([]);
    if (mark.label === undefined) continue;
    const left = x + mark.radius + 14 > map.width;
    context.textAlign = left ? "right" : "left";
    const at = left ? x - mark.radius - 4 : x + mark.radius + 4;
    context.lineWidth = 4;
    context.strokeStyle = halo;
    context.strokeText(mark.label, at, y);
    context.fillStyle = mark.colour;
    context.fillText(mark.label, at, y);
  }
}
