/** What a person can do with groups of all rows: find, name, join and split them. */

import { change } from "./actions";
import { api } from "./api";
import { GROUPS } from "./logic/grouping";
import type { Goal, Grouping, State } from "./logic/types";
import { counted } from "./logic/words";
import { type Model, NO_GROUPS, NONE_CHOSEN } from "./model";
import { announce, notify, notifyProblem } from "./notices";

/** Have groups found by what is known now. They come to all pages when they are there. */
export async function findGroups(model: Model): Promise<void> {
  model.finding.set(model.state.value.version);
  try {
    await api.findGroups();
  } catch (problem) {
    model.finding.set(null);
    notifyProblem(problem);
  }
}

/** Show groups, found anew if they are shown already. */
export function showFoundGroups(model: Model): void {
  const shown = model.colouringKey.value === GROUPS;
  model.colouringKey.set(GROUPS);
  if (shown || model.finding.value === null) void findGroups(model);
  announce("Groups are being found.");
}

export function acceptGrouping(model: Model, grouping: Grouping): void {
  const { finding, chosen } = model;
  const n = grouping.groups.length;
  const left = chosen.value.numbers.filter((group) => group < n);
  if (left.length < chosen.value.numbers.length) chosen.set({ numbers: left });
  const wanted = finding.value;
  if (wanted !== null && grouping.version >= wanted) {
    finding.set(null);
    announce(`${counted(n, "group")} found: ${grouping.said}.`);
  }
  model.grouping.set(grouping);
}

/** Groups follow what is learned as long as they are shown. */
export function keepGrouping(model: Model): void {
  const follow = (): void => {
    const learned = model.learned.value;
    if (model.colouringKey.value !== GROUPS || learned === null) return;
    const { value } = model.grouping;
    const known = model.finding.value ?? value?.version ?? -1;
    if (known < learned.version) void findGroups(model);
  };
  for (const source of [model.learned, model.colouringKey, model.grouping]) source.listen(follow);
}

/** A name for a group; an empty one takes its name away. */
export async function nameGroup(model: Model, group: number, text: string): Promise<boolean> {
  const grouping = model.grouping.value;
  if (grouping === null) return false;
  const name = text.trim() === "" ? null : text.trim();
  const { name: before, named } = grouping.groups[group];
  if (name === null ? !named : named && name === before) return true;
  const said = name === null ? `${before} has no name any more.` : `${before} is called ${name}.`;
  const state = await change(
    model,
    () => api.nameGroup(grouping.number, group, name, named ? before : null),
    () => said,
  );
  return state !== null;
}

type Before = "nothing" | null;

/** What is said of groups becomes pairs; of pairs that said something else, it must be said twice. */
async function sayPairs(
  model: Model,
  send: (before: Before) => Promise<State & { n_pairs: number }>,
  sure: boolean | undefined,
  said: string,
): Promise<"said" | "refused" | "doubted"> {
  let outcome: "said" | "refused" | "doubted" = "refused";
  let sentence = said;
  const state = await change(
    model,
    async () => {
      const reply = await send(sure ? null : "nothing");
      sentence = `${said} ${counted(reply.n_pairs, "pair")} recorded.`;
      return reply;
    },
    () => sentence,
    () => {
      outcome = "doubted";
      notify("Say it again to have it take the place of what was said before.");
    },
  );
  if (state === null) return outcome;
  notify(sentence);
  return "said";
}

/** Of the rows that are selected as group A: they are one group, or not with the rest of theirs. */
export async function sayOfSelection(model: Model, what: "one" | "split"): Promise<void> {
  const grouping = model.grouping.value;
  const { a, sure } = model.groups.value;
  if (grouping === null || a.length === 0) return;
  const { number } = grouping;
  model.groups.set(NO_GROUPS);
  const outcome = await sayPairs(
    model,
    (before) =>
      what === "one" ? api.sayOneGroup(number, a, before) : api.splitOff(number, a, before),
    sure,
    what === "one" ? "They are one group." : "They are split from the rest of their group.",
  );
  if (outcome !== "said") model.groups.set({ a, b: [], sure: outcome === "doubted" });
}

/** Of the two groups that are chosen. */
export async function sayOfChosen(model: Model, same: boolean): Promise<void> {
  const grouping = model.grouping.value;
  const { numbers, sure } = model.chosen.value;
  if (grouping === null || numbers.length !== 2) return;
  const [one, two] = numbers.map((group) => grouping.groups[group].name);
  model.chosen.set(NONE_CHOSEN);
  const outcome = await sayPairs(
    model,
    (before) => api.sayOfGroups(grouping.number, numbers, same, before),
    sure,
    same ? `${one} and ${two} are one group.` : `${one} and ${two} are kept apart.`,
  );
  if (outcome === "doubted") model.chosen.set({ numbers, sure: true });
}

const GOALS: Record<Goal, string> = {
  distance: "Questions improve the distance now.",
  clusters: "Questions find the groups now.",
};

export async function aim(model: Model, goal: Goal): Promise<void> {
  await change(
    model,
    () => api.aim(goal),
    () => GOALS[goal],
  );
}
