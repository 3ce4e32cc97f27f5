import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openLive, waitBefore } from "../src/live";

class Line {
  static all: Line[] = [];
  readyState = 1;
  binaryType = "";
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: (() => void) | null = null;
  sent: string[] = [];
  closed = false;
  constructor() {
    Line.all.push(this);
  }
  send(text: string): void {
    this.sent.push(text);
  }
  close(): void {
    this.closed = true;
  }
}

const woken: Record<string, () => void> = {};
const states: string[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  Line.all = [];
  states.length = 0;
  const listen = (name: string, wake: () => void): void => {
    woken[name] = wake;
  };
  const clock = { setTimeout, clearTimeout, setInterval, clearInterval };
  vi.stubGlobal("window", { ...clock, addEventListener: listen });
  vi.stubGlobal("document", { addEventListener: listen, visibilityState: "visible" });
  vi.stubGlobal("WebSocket", { OPEN: 1 });
  const line = {
    openLive: () => new Line() as unknown as WebSocket,
    nextLive: () => Promise.reject(new Error("asked though there are lines")),
  };
  openLive(line, {
    onMessage: () => undefined,
    onConnection: (state) => states.push(state),
    isWelcome: () => Promise.resolve(true),
    hello: () => "hello",
  });
  Line.all[0].onopen?.();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a line that answers pings stays open", () => {
  expect(Line.all[0].sent).toEqual(["hello"]);
  for (let k = 0; k < 10; k++) {
    vi.advanceTimersByTime(25_000);
    Line.all[0].onmessage?.({ data: '{"type":"pong"}' });
  }
  expect(Line.all).toHaveLength(1);
  expect(states).toEqual(["connecting", "open"]);
});

test("after a day's sleep a line that is dead is opened anew", async () => {
  // The machine wakes: the line says nothing, and nobody has closed it.
  woken.visibilitychange();
  expect(Line.all[0].sent).toEqual(["hello", "ping"]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(Line.all[0].closed).toBe(true);
  expect(states.at(-1)).toBe("lost");
  await vi.advanceTimersByTimeAsync(waitBefore(0));
  expect(Line.all).toHaveLength(2);
  Line.all[1].onopen?.();
  expect(states.at(-1)).toBe("open");
  expect(Line.all[1].sent).toEqual(["hello"]);
});

test("a clock that jumps is a sleep too", async () => {
  vi.setSystemTime(Date.now() + 24 * 3600 * 1000);
  await vi.advanceTimersByTimeAsync(1000);
  expect(Line.all[0].sent).toEqual(["hello", "ping"]);
});
