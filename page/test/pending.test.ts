import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Pending } from "../src/pending";

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("window", globalThis);
});
afterEach(() => vi.useRealTimers());

test("what takes no longer than a moment is not mentioned", () => {
  const pending = new Pending();
  const done = pending.add("same");
  vi.advanceTimersByTime(250);
  done();
  vi.advanceTimersByTime(1000);
  expect(pending.shown.value).toEqual([]);
});

test("what waits longer is listed in its order until it is done", () => {
  const pending = new Pending();
  const first = pending.add("same");
  vi.advanceTimersByTime(300);
  expect(pending.shown.value).toEqual(["same"]);
  const second = pending.add("undo");
  expect(pending.shown.value).toEqual(["same", "undo"]);
  first();
  expect(pending.shown.value).toEqual(["undo"]);
  second();
  expect(pending.shown.value).toEqual([]);
  // The next one has its moment too.
  pending.add("different");
  expect(pending.shown.value).toEqual([]);
});
