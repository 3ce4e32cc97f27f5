import { expect, it } from "vitest";
import { Trace } from "../src/logic/trace";

it("brings together answer, layout and frame, whichever order they come in", () => {
  const trace = new Trace();
  const first = trace.answered(100, 101);
  trace.acknowledged(first, 1);
  trace.layoutArrived(1, 130);
  trace.frameDrawn(1, 145);
  expect(first).toEqual({
    version: 1,
    keydownAt: 100,
    sentAt: 101,
    layoutAt: 130,
    firstFrameAt: 145,
  });

  const early = trace.answered(200, 201);
  trace.layoutArrived(2, 220);
  trace.frameDrawn(2, 230);
  trace.acknowledged(early, 2);
  expect(early.layoutAt).toBe(220);
  expect(early.firstFrameAt).toBe(230);
});

it("takes the newest layout for answers that it passed over", () => {
  const trace = new Trace();
  const quick = trace.answered(10, 11);
  trace.acknowledged(quick, 5);
  trace.layoutArrived(7, 60);
  trace.frameDrawn(7, 75);
  expect(quick.firstFrameAt).toBe(75);
});

it("does not take a layout from before the answer", () => {
  const trace = new Trace();
  trace.layoutArrived(9, 5);
  trace.frameDrawn(9, 8);
  const late = trace.answered(50, 51);
  trace.acknowledged(late, 9);
  expect(late.firstFrameAt).toBeNull();
});
