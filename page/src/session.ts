/**
 * How the page comes to its token: from its address, which it is taken out of at once, or from what the browser keeps
 * for this address alone. So reloading works, and so do other tabs; a cookie would go to all servers of this machine.
 * Behind a proxy several studios have one host, and paths of their own.
 */

import { remember, remembered } from "./storage";

let known = "";

/** Under which name the token of this path is kept. */
export function keptAs(path: string): string {
  return path === "/" ? "token" : `token of ${path}`;
}

/** What every request says. */
export function token(): string {
  return known;
}

/** Find the token; a code in the address is exchanged for it. */
export async function enter(): Promise<void> {
  const given = new URLSearchParams(window.location.search);
  const code = given.get("code");
  known =
    (code === null ? given.get("token") : await exchanged(code)) ??
    remembered(keptAs(window.location.pathname)) ??
    "";
  if (given.has("code") || given.has("token")) {
    window.history.replaceState(null, "", window.location.pathname);
  }
}

/** Keep the token, now that it has proved right. */
export function stay(): void {
  remember(keptAs(window.location.pathname), known);
}

async function exchanged(code: string): Promise<string | null> {
  try {
    const headers = { "X-Nearkin-Code": code };
    const response = await fetch("./api/token", { method: "POST", headers });
    return response.ok ? ((await response.json()) as { token: string }).token : null;
  } catch {
    return null;
  }
}
