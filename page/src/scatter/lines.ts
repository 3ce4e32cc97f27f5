/**
 * Lines between points, in the same WebGL frame as the points.
 *
 * A second, two-dimensional canvas would be simpler, but takes longer than the points themselves where pixels are
 * drawn by software, and is a frame late at times.
 */

import type { Buffer, Elements, Regl } from "regl";
import { parsed, type Rgb } from "../logic/colours";
import { linkEnds } from "../logic/links";
import type { ScreenMap } from "../logic/screen";

export interface LineStyle {
  colour: string;
  width: number;
  opacity: number;
  /** Pixels drawn and pixels left out, in turns; none for a whole line. */
  dash?: [number, number];
}

function rgbOf(hex: string): Rgb {
  return parsed(hex).map((part) => part / 255) as Rgb;
}

const BLEND = {
  enable: true,
  func: {
    srcRGB: "src alpha",
    srcAlpha: "one",
    dstRGB: "one minus src alpha",
    dstAlpha: "one minus src alpha",
  },
} as const;

const CORNERS = [0, -1, 0, 1, 1, -1, 1, 1];

interface LineProps {
  ends: Buffer;
  corners: Buffer;
  elements: Elements;
  count: number;
  size: [number, number];
  colour: Rgb;
  opacity: number;
  width: number;
  dash: [number, number];
}

function lineCommand(regl: Regl) {
  const prop = <Name extends keyof LineProps>(name: Name) => regl.prop<LineProps, Name>(name);
  return regl({
    vert: `
      precision highp float;
      attribute vec4 ends;
      attribute vec2 corner;
      uniform vec2 size;
      uniform float width;
      varying float along;
      varying float across;
      void main() {
        vec2 way = ends.zw - ends.xy;
        float far = max(length(way), 0.001);
        vec2 aside = vec2(-way.y, way.x) / far;
        across = corner.y * (0.5 * width + 1.0);
        along = corner.x * far;
        vec2 place = mix(ends.xy, ends.zw, corner.x) + across * aside;
        gl_Position = vec4(2.0 * place.x / size.x - 1.0, 1.0 - 2.0 * place.y / size.y, 0.0, 1.0);
      }`,
    frag: `
      precision highp float;
      uniform vec3 colour;
      uniform float opacity;
      uniform float width;
      uniform vec2 dash;
      varying float along;
      varying float across;
      void main() {
        float alpha = opacity * clamp(0.5 * width + 0.5 - abs(across), 0.0, 1.0);
        if (dash.y > 0.0) {
          float place = mod(along, dash.x + dash.y);
          alpha *= clamp(min(place, dash.x - place) + 0.5, 0.0, 1.0);
        }
        gl_FragColor = vec4(colour, alpha);
      }`,
    attributes: { ends: prop("ends"), corner: prop("corners") },
    uniforms: {
      size: prop("size"),
      colour: prop("colour"),
      opacity: prop("opacity"),
      width: prop("width"),
      dash: prop("dash"),
    },
    elements: prop("elements"),
    count: prop("count"),
    depth: { enable: false },
    blend: BLEND,
  });
}

/** Lines of one style. Each holds its buffers, which grow as they must. */
export class Lines {
  private readonly draw: ReturnType<typeof lineCommand>;
  private readonly ends: Buffer;
  private readonly corners: Buffer;
  private readonly elements: Elements;
  private room = 0;
  private screen = new Float32Array(0);
  private corner = new Float32Array(0);

  constructor(regl: Regl) {
    this.draw = lineCommand(regl);
    this.ends = regl.buffer({ usage: "stream", type: "float", length: 16 });
    this.corners = regl.buffer({ usage: "static", type: "float", length: 16 });
    this.elements = regl.elements({ primitive: "triangles", type: "uint32", data: [] });
  }

  stroke(links: Uint32Array, positions: Float32Array, map: ScreenMap, style: LineStyle): void {
    if (links.length === 0) return;
    this.makeRoom(links.length / 2);
    const lines = linkEnds(this.screen, links, positions, map) / 4;
    if (lines === 0) return;
    for (let line = 0; line < lines; line++) {
      for (let c = 0; c < 4; c++) {
        this.corner.set(this.screen.subarray(4 * line, 4 * line + 4), 16 * line + 4 * c);
      }
    }
    this.ends({ usage: "stream", type: "float", data: this.corner.subarray(0, 16 * lines) });
    this.draw({
      ends: this.ends,
      corners: this.corners,
      elements: this.elements,
      count: 6 * lines,
      size: [map.width, map.height],
      colour: rgbOf(style.colour),
      opacity: style.opacity,
      width: style.width,
      dash: style.dash ?? [0, 0],
    });
  }

  private makeRoom(lines: number): void {
    if (lines <= this.room) return;
    this.room = Math.max(64, 2 * this.room, lines);
    this.screen = new Float32Array(4 * this.room);
    this.corner = new Float32Array(16 * this.room);
    const corners = new Float32Array(8 * this.room);
    const triangles = new Uint32Array(6 * this.room);
    for (let line = 0; line < this.room; line++) {
      corners.set(CORNERS, 8 * line);
      const first = 4 * line;
      triangles.set([first, first + 1, first + 2, first + 2, first + 1, first + 3], 6 * line);
    }
    this.corners({ usage: "static", type: "float", data: corners });
    this.elements({ primitive: "triangles", type: "uint32", data: triangles });
  }
}
