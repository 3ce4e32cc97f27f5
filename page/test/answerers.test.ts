import { afterEach, expect, test, vi } from "vitest";

import { api } from "../src/api";
import { reliability } from "../src/view/answerers";
import { callMe, myName } from "../src/who";

afterEach(() => {
  vi.unstubAllGlobals();
});

/** A browser that remembers, and what it is asked to send. */
function browser(): unknown[] {
  const kept = new Map<string, string>();
  const localStorage = {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => kept.set(name, value),
  };
  vi.stubGlobal("window", {
    localStorage,
    location: { href: "http://127.0.0.1/", hash: "", search: "" },
  });
  const sent: unknown[] = [];
  vi.stubGlobal("fetch", async (_: URL, { body }: { body: string }) => {
    sent.push(JSON.parse(body));
    return { ok: true, status: 200, json: async () => ({}) };
  });
  return sent;
}

test("answers are given under the name that the browser remembers", async () => {
  const sent = browser();
  await api.answer(0, 1, true, "question", "nothing");
  callMe("  Ann ");
  expect(myName()).toBe("Ann");
  await api.answer(0, 1, true, "question", "nothing");
  await api.answerGroups([0], [1], false, null);
  expect(sent.map((body) => (body as { by?: string }).by)).toEqual([undefined, "Ann", "Ann"]);
});

test("without a name, answers go without", () => {
  browser();
  callMe("   ");
  expect(myName()).toBeUndefined();
});

test("a rate is told with its interval", () => {
  const one = { name: "Ann", n_answers: 1, wrong: 0.084, low: 0.02, high: 0.204 };
  expect(reliability(one)).toBe("1 answer, 8% wrong (2% to 20%)");
});
