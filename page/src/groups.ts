/** Groups of all records: kept up to date, named, joined, and said of what is selected; and other colours of points. */

import { answerMany, change } from "./actions";
import { api } from "./api";
import { coalesced } from "./coalesce";
import { DUPLICATES, GROUPS, titleOf } from "./logic/messages";
import { DURATION_MS } from "./logic/motion";
import type { Colouring, Group, KnownGroup } from "./logic/types";
import { type Model, purposeOf } from "./model";
import { notifyProblem } from "./notices";
import { afterPause } from "./settled";
import { remember } from "./storage";

/** Colours follow when points have come to rest. */
const AFTER_MOTION_MS = DURATION_MS + 50;

/** Fetch groups when answers or the metric have changed, and whatever else points are coloured by. */
export function keepGroups(model: Model): void {
  const fetchGroups = coalesced(async () => {
    try {
      model.groups.set(await api.groups());
      if (model.colouringKey.value === GROUPS) model.colouring.set(byGroups(model));
    } catch (problem) {
      notifyProblem(problem);
    }
  });
  const fetchColouring = coalesced(async () => {
    const key = model.colouringKey.value;
    if (key === "") return model.colouring.set(null);
    if (key === GROUPS) return model.colouring.set(byGroups(model));
    try {
      const colouring = await api.colouring(key);
      if (key === model.colouringKey.value) model.colouring.set(colouring);
    } catch (problem) {
      notifyProblem(problem);
    }
  });
  model.colouringKey.listen((key) => {
    remember("colour", key);
    model.category.set(null);
    fetchColouring();
  });
  const later = afterPause(fetchGroups, AFTER_MOTION_MS);
  model.learned.listen(later.start);
  model.state.listen((state, before) => state.version !== before.version && later.start());
  model.review.listen(() => model.colouringKey.value === GROUPS && fetchColouring());
  fetchGroups();
  if (model.colouringKey.value !== GROUPS) fetchColouring();
}

/** The group that each record is likely of; where duplicates are looked for, those that were found. */
function byGroups(model: Model): Colouring | null {
  const { review, groups, lesson } = model;
  if (purposeOf(model) !== "things") return groups.value?.colouring ?? null;
  if (review.value === null || review.value.n_groups === 0) return null;
  const values = new Float32Array(lesson.n_rows).fill(Number.NaN);
  for (const row of review.value.groups.flatMap(({ rows }) => rows)) values[row] = 0;
  const of = { key: DUPLICATES, name: "Duplicates", kind: "categories" as const, range: null };
  return { ...of, categories: ["found so far"], values };
}

/** What a point's group is called; null if it is in none, or if that is not shown. */
export function groupName({ groups, colouring }: Model, row: number): string | null {
  if (colouring.value?.key !== GROUPS) return null;
  const { values, pale } = colouring.value;
  const group = groups.value?.groups.find(({ number }) => number === values[row]);
  return group === undefined ? null : `${pale?.[row] === 1 ? "perhaps " : ""}${titleOf(group)}`;
}

/** The group of a number, with its examples, if it is here. */
export function groupOf(
  { groups }: Model,
  { number }: Pick<KnownGroup, "number">,
): Group | undefined {
  return groups.value?.groups.find((group) => group.number === number);
}

/** Another name for a group; an empty one takes its name away. */
export async function nameGroup(model: Model, group: Group, text: string): Promise<boolean> {
  const { name: before, named, examples } = group;
  const name = text.trim() === "" ? null : text.trim();
  if (name === null ? !named : named && name === before) return true;
  const said = name === null ? `${before} has no name any more.` : `${before} is called ${name}.`;
  const state = await change(
    model,
    () => api.nameGroup(examples[0], name),
    () => said,
  );
  return state !== null;
}

/** Two groups are one. */
export async function mergeGroups(model: Model, one: Group, other: Group): Promise<void> {
  const rows = [one, other].map(({ examples }) => examples.slice(0, 1));
  await answerMany(
    model,
    (before) => api.answerGroups(rows[0], rows[1], true, before),
    `${titleOf(one)} and ${titleOf(other)} are one group.`,
  );
}
