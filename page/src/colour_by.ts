/** Fetches what points are coloured by, and keeps it up to date where it depends on the answers. */

import { api, ServerError } from "./api";
import { coalesced } from "./coalesce";
import { findGroups } from "./grouping";
import { matchedCategories } from "./logic/colours";
import { GROUPS, noGroups, renamed } from "./logic/grouping";
import { DURATION_MS } from "./logic/motion";
import type { Colouring } from "./logic/types";
import type { Model } from "./model";
import { notifyProblem } from "./notices";
import { afterPause } from "./settled";

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

/** Points have no colour until groups are there. */
function awaitGroups(model: Model): void {
  const { name } = model.lesson.colourings.find(({ key }) => key === GROUPS) ?? { name: GROUPS };
  model.colouring.set(noGroups(name, model.lesson.n_rows));
  if (model.finding.value === null) void findGroups(model);
}

export function keepColouring(model: Model): void {
  const fetchColouring = coalesced(async () => {
    const key = model.colouringKey.value;
    if (key === "") return model.colouring.set(null);
    const query: { clusters?: number; grouping?: number } = {};
    if (key === "clusters") query.clusters = model.clusters.value;
    if (key === GROUPS) {
      if (model.grouping.value === null) return awaitGroups(model);
      query.grouping = model.grouping.value.number;
    }
    try {
      const colouring = await api.colouring(key, query);
      if (key !== model.colouringKey.value) return;
      const grouping = model.grouping.value;
      const named =
        grouping !== null && grouping.number === colouring.number
          ? renamed(colouring, grouping)
          : colouring;
      model.colouring.set(renumbered(named, model.colouring.value));
    } catch (problem) {
      // Groups that were found anew meanwhile are told of, and fetched then.
      if (key === GROUPS && problem instanceof ServerError && problem.status === 409) return;
      notifyProblem(problem);
    }
  });
  model.grouping.listen((grouping) => {
    const { value } = model.colouring;
    if (model.colouringKey.value !== GROUPS || grouping === null) return;
    if (value?.number === grouping.number) model.colouring.set(renamed(value, grouping));
    else fetchColouring();
  });
  model.colouringKey.listen(() => {
    model.category.set(null);
    fetchColouring();
  });
  model.clusters.listen(() => {
    if (model.colouringKey.value === "clusters") fetchColouring();
  });
  const later = afterPause(fetchColouring, AFTER_MOTION_MS);
  const refresh = (): void => {
    if (LEARNED.has(model.colouringKey.value)) later.start();
  };
  model.learned.listen(refresh);
  model.known.listen(refresh);
  fetchColouring();
}
