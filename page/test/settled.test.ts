import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { api } from "../src/api";
import { afterPause, begin, note, underWay } from "../src/settled";

const dataset: Record<string, string> = {};

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("document", { documentElement: { dataset } });
  vi.stubGlobal("window", {
    location: { href: "http://127.0.0.1/studio" },
    setTimeout,
    clearTimeout,
  });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("what is under way is counted until it has ended, well or not, and once", async () => {
  const end = begin();
  const failing = underWay(Promise.reject(new Error("no")));
  expect(dataset.pending).toBe("2");
  await expect(failing).rejects.toThrow("no");
  expect(dataset.pending).toBe("1");
  end();
  end();
  expect(dataset.pending).toBe("0");
});

test("a request is under way until its reply is here as a whole", async () => {
  let arrive = (_: unknown): void => undefined;
  const body = new Promise((resolve) => {
    arrive = resolve;
  });
  vi.stubGlobal("fetch", async () => ({ ok: true, status: 200, json: () => body }));
  const asked = api.known();
  await vi.advanceTimersByTimeAsync(1000);
  expect(dataset.pending).toBe("1");
  arrive({ version: 3 });
  expect(await asked).toEqual({ version: 3 });
  expect(dataset.pending).toBe("0");
});

test("a pause is under way until its task is done, and begins anew when it is asked for again", () => {
  const seen: string[] = [];
  const pause = afterPause(() => seen.push(dataset.pending), 100, "pending");
  pause.start();
  vi.advanceTimersByTime(99);
  pause.start();
  expect(dataset.pending).toBe("1");
  vi.advanceTimersByTime(99);
  expect(seen).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(seen).toEqual(["1"]);
  expect(dataset.pending).toBe("0");
  pause.start();
  pause.stop();
  pause.stop();
  expect(dataset.pending).toBe("0");
  vi.advanceTimersByTime(1000);
  expect(seen).toHaveLength(1);
});

test("what is drawn later is counted by itself", () => {
  const pause = afterPause(() => undefined, 100);
  pause.start();
  expect([dataset.pending, dataset.drawing]).toEqual(["0", "1"]);
  vi.advanceTimersByTime(100);
  expect([dataset.pending, dataset.drawing]).toEqual(["0", "0"]);
});

test("what is not known is not there", () => {
  note("mapVersion", 4);
  expect(dataset.mapVersion).toBe("4");
  note("mapVersion", null);
  expect("mapVersion" in dataset).toBe(false);
});
