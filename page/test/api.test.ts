import { afterEach, expect, test, vi } from "vitest";

import { api, NO_ANSWER } from "../src/api";

/** A server that is there, and of which this becomes of a reply. */
function serve(json: () => Promise<unknown>): void {
  vi.stubGlobal("window", { location: { href: "http://127.0.0.1/studio", hash: "", search: "" } });
  vi.stubGlobal("sessionStorage", { getItem: () => "token", setItem: () => undefined });
  vi.stubGlobal("fetch", async () => ({ ok: true, status: 200, json }));
}

afterEach(() => {
  vi.unstubAllGlobals();
});

test("a server that goes in the middle of a reply does not answer", async () => {
  serve(() => Promise.reject(new TypeError("Failed to fetch")));
  await expect(api.known()).rejects.toThrow(NO_ANSWER);
});

test("a reply that is no JSON is another problem", async () => {
  serve(() => Promise.reject(new SyntaxError("Unexpected token")));
  await expect(api.known()).rejects.toThrow("Unexpected token");
});

test("a whole reply is handed on", async () => {
  serve(() => Promise.resolve({ version: 3 }));
  expect(await api.known()).toEqual({ version: 3 });
});
