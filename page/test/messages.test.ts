import { describe, expect, it } from "vitest";
import { decodeFloats, decodeLayout, decodeLive } from "../src/logic/messages";

function layoutBytes(version: number, values: number[]): ArrayBuffer {
  const buffer = new ArrayBuffer(8 + 4 * values.length);
  const view = new DataView(buffer);
  view.setUint32(0, version, true);
  view.setUint8(4, 1);
  view.setUint8(5, 42);
  values.forEach((value, i) => {
    view.setFloat32(8 + 4 * i, value, true);
  });
  return buffer;
}

describe("decodeLayout", () => {
  it("reads version and coordinates, little endian", () => {
    const layout = decodeLayout(layoutBytes(70_000, [1.5, -2, 0, 4]));
    expect(layout).toMatchObject({ version: 70_000, ofNeighbors: true, percent: 42 });
    expect([...layout.coordinates]).toEqual([1.5, -2, 0, 4]);
  });

  it("refuses what is cut off", () => {
    expect(() => decodeLayout(layoutBytes(1, [1, 2, 3]))).toThrow("not complete");
    expect(() => decodeLayout(new ArrayBuffer(2))).toThrow("not complete");
  });
});

describe("decodeFloats", () => {
  it("keeps NaN as unknown", () => {
    const values = decodeFloats(Float32Array.of(1, Number.NaN).buffer);
    expect(values[0]).toBe(1);
    expect(values[1]).toBeNaN();
  });

  it("refuses half a value", () => {
    expect(() => decodeFloats(new ArrayBuffer(6))).toThrow("no whole number");
  });
});

describe("decodeLive", () => {
  it("tells kinds of messages apart", () => {
    const state = decodeLive('{"type":"state","version":3,"n_answers":2}');
    expect(state).toEqual({ type: "state", state: { version: 3, n_answers: 2 } });
    expect(decodeLive('{"type":"problem","message":"No."}')).toEqual({
      type: "problem",
      message: "No.",
    });
    expect(decodeLive(layoutBytes(5, [0, 0]))?.type).toBe("layout");
  });

  it("passes over what it does not know", () => {
    expect(decodeLive('{"type":"weather"}')).toBeNull();
    expect(decodeLive("[1, 2]")).toBeNull();
    expect(decodeLive(new Blob())).toBeNull();
  });
});
