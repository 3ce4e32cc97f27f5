/** What was pressed and is not confirmed yet: it is said if that takes longer than a moment. */

import { Signal } from "./signal";

const AFTER_MS = 300;

export class Pending {
  /** What waits, the oldest first; empty as long as nothing has waited long enough to be said. */
  readonly shown = new Signal<string[]>([]);
  private readonly waiting: { label: string }[] = [];
  private timer = 0;

  /** Note something that was pressed; gives what to call when it is confirmed or refused. */
  add(label: string): () => void {
    const one = { label };
    this.waiting.push(one);
    if (this.shown.value.length > 0) this.show();
    else if (this.waiting.length === 1) this.timer = window.setTimeout(() => this.show(), AFTER_MS);
    return () => {
      const at = this.waiting.indexOf(one);
      if (at >= 0) this.waiting.splice(at, 1);
      if (this.waiting.length === 0) window.clearTimeout(this.timer);
      if (this.shown.value.length > 0) this.show();
    };
  }

  private show(): void {
    this.shown.set(this.waiting.map(({ label }) => label));
  }
}
