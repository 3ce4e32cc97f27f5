/** Fetches what points are coloured by, and keeps it up to date where it depends on the answers. */

import { api } from "./api";
import { coalesced } from "./coalesce";
import { matchedCategories } from "./logic/colours";
import { DURATION_MS } from "./logic/motion";
import type { Colouring } from "./logic/types";
import type { Model } from "./model";
import { notifyProblem } from "./notices";

const LEARNED = new Set(["known", "clusters"]);
/** Colours that depend on answers follow when points have come to rest. */
const AFTER_MOTION_MS = DURATION_MS + 50;

/** Clusters come in any order; give them the numbers of those they were before. */
function renumbered(colouring: Colouring, before: Colouring | null): Colouring {
  const n = colouring.categories?.length ?? 0;
  if (before?.key !== "clusters" || colouring.key !== "clusters") return colouring;
  if (before.categories?.length !== n) return colouring;
  const number = matchedCategories(before.values, colouring.values, n);
  return { ...colouring, values: colouring.values.map((value) => number[value] ?? Number.NaN) };
}

export function keepColouring(model: Model): void {
  const fetchColouring = coalesced(async () => {
    const key = model.colouringKey.value;
    if (key === "") return model.colouring.set(null);
    try {
      const colouring = await api.colouring(key, model.clusters.value);
      if (key !== model.colouringKey.value) return;
      model.colouring.set(renumbered(colouring, model.colouring.value));
    } catch (problem) {
      notifyProblem(problem);
    }
  });
  model.colouringKey.listen(() => {
    model.category.set(null);
    fetchColouring();
  });
  model.clusters.listen(() => {
    if (model.colouringKey.value === "clusters") fetchColouring();
  });
  let waiting = 0;
  const refresh = (): void => {
    if (!LEARNED.has(model.colouringKey.value)) return;
    window.clearTimeout(waiting);
    waiting = window.setTimeout(fetchColouring, AFTER_MOTION_MS);
  };
  model.learned.listen(refresh);
  model.known.listen(refresh);
  fetchColouring();
}
