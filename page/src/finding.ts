/** Looks for rows when the filter changes, and again when answers may have changed what it finds. */

import { api } from "./api";
import { coalesced } from "./coalesce";
import { filterInWords, isEmpty, NO_FILTER } from "./logic/finding";
import { counted } from "./logic/words";
import type { Model } from "./model";
import { announce, notifyProblem } from "./notices";

/** Sooner nobody needs to be told that it takes a while. */
const PATIENCE_MS = 150;

export function keepMatches(model: Model): void {
  let told = "";
  const search = coalesced(async () => {
    const filter = model.filter.value;
    if (isEmpty(filter)) {
      told = "";
      return model.matches.set(null);
    }
    const busy = window.setTimeout(() => model.searching.set(true), PATIENCE_MS);
    try {
      const found = await api.search(filter, model.lesson.n_rows);
      if (filter !== model.filter.value) return;
      model.matches.set(found);
      const sentence = `${filterInWords(filter)}: ${counted(found.n, "record")} found.`;
      if (sentence !== told) announce(sentence);
      told = sentence;
    } catch (problem) {
      notifyProblem(problem);
    } finally {
      window.clearTimeout(busy);
      model.searching.set(false);
    }
  });
  model.filter.listen(search);
  model.learned.listen(() => model.filter.value.doubtful && search());
  model.groups.listen(() => model.filter.value.groups.length > 0 && search());
}

export function clearFilter(model: Model): void {
  model.filter.set(NO_FILTER);
  announce("The filter is cleared.");
}
