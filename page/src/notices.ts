/** What the page says in passing: to screen readers, and as messages that do not stand in the way. */

import { byId, h } from "./view/dom";

const SHOWN_MS = 7000;
const MOST_SHOWN = 3;
/** Problems stay until they are closed, unless there are more than this. */
const MOST_PROBLEMS = 6;

/** Said by screen readers, not shown. */
export function announce(sentence: string): void {
  const region = byId("announcer");
  // The same sentence twice is only said again if it is a new node.
  region.replaceChildren(h("p", { text: sentence }));
}

export type NoticeKind = "problem" | "note";

/** A message that goes away by itself (notes) or when it is closed (problems). */
export function notify(sentence: string, kind: NoticeKind = "note"): void {
  const list = byId("notices");
  dismiss(sentence);
  const notice = h(
    "div",
    {
      class: `notice ${kind}`,
      role: kind === "problem" ? "alert" : "status",
      "data-sentence": sentence,
      testid: `notice-${kind}`,
    },
    h("p", { text: sentence, dir: "auto" }),
    h("button", {
      class: "icon",
      type: "button",
      "aria-label": "Close this message",
      text: "×",
      on: { click: () => notice.remove() },
    }),
  );
  list.append(notice);
  while (list.children.length > MOST_SHOWN) {
    const oldest = list.querySelector(".note");
    if (oldest === null && list.children.length <= MOST_PROBLEMS) break;
    (oldest ?? list.firstElementChild)?.remove();
  }
  if (kind === "note") window.setTimeout(() => notice.remove(), SHOWN_MS);
}

/** Take back a message that does not hold any more. */
export function dismiss(sentence: string): void {
  for (const notice of byId("notices").querySelectorAll(".notice")) {
    if (notice.getAttribute("data-sentence") === sentence) notice.remove();
  }
}

export function notifyProblem(problem: unknown): void {
  notify(problem instanceof Error ? problem.message : String(problem), "problem");
}
