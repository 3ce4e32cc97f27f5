/**
 * What the root element says of whether the page has settled, for programs that drive it: `data-pending`, how much is
 * under way; `data-drawing`, how much is drawn a little later, not to be in the way of that; `data-version` and `data-report-version`, of the last state and report that are here; and
 * `data-map-version`, of the map that is drawn, which is missing as long as the chosen map has not come to its end.
 */

type Counted = "pending" | "drawing";

const counts: Record<Counted, number> = { pending: 0, drawing: 0 };

function count(what: Counted, step: 1 | -1): void {
  counts[what] += step;
  note(what, counts[what]);
}

/** Write something of the page onto its root element, or take it away. */
export function note(
  name: Counted | "version" | "reportVersion" | "mapVersion",
  value: number | null,
): void {
  // Tests of logic have no page.
  if (typeof document === "undefined") return;
  const { dataset } = document.documentElement;
  if (value === null) delete dataset[name];
  else dataset[name] = String(value);
}

/** Count something as under way until what is given is called. */
export function begin(what: Counted = "pending"): () => void {
  count(what, 1);
  let ended = false;
  return () => {
    if (!ended) count(what, -1);
    ended = true;
  };
}

/** The same for what ends by itself, well or not. */
export function underWay<T>(work: Promise<T>): Promise<T> {
  return work.finally(begin());
}

/** Load the page anew, which is under way until then. */
export function reloadPage(): void {
  begin();
  window.location.reload();
}

/** A task that is done so long after it was last asked for. */
export function afterPause(
  task: () => void,
  ms: number,
  what: Counted = "drawing",
): { start: () => void; stop: () => void } {
  let timer = 0;
  let end = (): void => undefined;
  const stop = (): void => {
    window.clearTimeout(timer);
    end();
  };
  const start = (): void => {
    stop();
    const done = begin(what);
    end = done;
    timer = window.setTimeout(() => {
      try {
        task();
      } finally {
        done();
      }
    }, ms);
  };
  return { start, stop };
}
