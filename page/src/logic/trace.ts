/** When each answer was given, sent, and seen: for tests of how quick the page is. */

export interface TraceEntry {
  version: number | null;
  keydownAt: number;
  sentAt: number;
  layoutAt: number | null;
  firstFrameAt: number | null;
}

interface ShownLayout {
  version: number;
  layoutAt: number;
  firstFrameAt: number | null;
}

const LAYOUTS_KEPT = 50;

/** Entries of answers, filled in as replies, layouts and frames come, in whatever order they do. */
export class Trace {
  readonly entries: TraceEntry[] = [];
  private layouts: ShownLayout[] = [];

  answered(keydownAt: number, sentAt: number): TraceEntry {
    const entry = { version: null, keydownAt, sentAt, layoutAt: null, firstFrameAt: null };
    this.entries.push(entry);
    return entry;
  }

  acknowledged(entry: TraceEntry, version: number): void {
    entry.version = version;
    this.fill();
  }

  layoutArrived(version: number, layoutAt: number): void {
    this.layouts.push({ version, layoutAt, firstFrameAt: null });
    if (this.layouts.length > LAYOUTS_KEPT) this.layouts.shift();
    this.fill();
  }

  frameDrawn(version: number, time: number): void {
    for (const layout of this.layouts) {
      if (layout.version <= version) layout.firstFrameAt ??= time;
    }
    this.fill();
  }

  /** An answer is seen in the first layout that knows of it. */
  private fill(): void {
    for (const entry of this.entries.slice(-LAYOUTS_KEPT)) {
      if (entry.version === null || entry.firstFrameAt !== null) continue;
      const version = entry.version;
      const layout = this.layouts.find(
        (shown) => shown.version >= version && shown.layoutAt >= entry.sentAt,
      );
      if (layout === undefined) continue;
      entry.layoutAt = layout.layoutAt;
      entry.firstFrameAt = layout.firstFrameAt;
    }
  }
}
