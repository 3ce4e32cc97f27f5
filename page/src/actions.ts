/** What a person can do: each asks the server, and takes over the state that it replies. */

import { api, ServerError } from "./api";
import { undoneInWords } from "./logic/answers";
import { isPair, saidOfPair, withAnswer, wordOf } from "./logic/known";
import { stillAsked, withoutPair } from "./logic/review";
import type {
  Asking,
  Change,
  GroupsState,
  Pair,
  Same,
  State,
  Suspect,
  Which,
  Word,
} from "./logic/types";
import { counted } from "./logic/words";
import {
  type Asked,
  asked,
  askedOf,
  chosenSuspect,
  gone,
  type Model,
  purposeOf,
  wordsOf,
} from "./model";
import { announce, dismiss, notify, notifyProblem } from "./notices";
import { underWay } from "./settled";
import { sayOfGroups } from "./which";
import { myName } from "./who";

/** Take over a state unless a newer one is here. The question that is shown stays as long as nothing changed. */
export function acceptState(model: Model, state: State): void {
  const now = model.state.value;
  if (state.version < now.version) return;
  const asBefore =
    state.version === now.version && JSON.stringify(state.asked) === JSON.stringify(now.asked);
  const { question, which, check } = now;
  const isShown = question !== null || which !== null || check !== null;
  model.state.set(asBefore && isShown ? { ...state, question, which, check } : state);
}

/** The same for a state that all pages are told. */
export function acceptToldState(model: Model, state: State): void {
  if (model.steps === 0) acceptState(model, state);
  else model.heldBack.push(state);
}

/** What a record is called, as far as that is known here. */
export function nameOf(model: Model, row: number): string {
  const id = model.records.name(row);
  return id === undefined || String(id) === String(row) ? `row ${row}` : `${id}`;
}

export function questionSentence(model: Model): string {
  const question = asked(model);
  if (question === null) return noQuestionSentence(model);
  if (question.rows !== undefined) return `Which is ${nameOf(model, question.left)} like?`;
  const both = `${nameOf(model, question.left)} and ${nameOf(model, question.right)}`;
  return `${wordsOf(model)} ${both}`;
}

export function noQuestionSentence(model: Model): string {
  if (model.lesson.n_rows < 2) return "There is only one record, so there is nothing to compare.";
  const purpose = purposeOf(model);
  if (purpose === null) return "Choose first what is asked.";
  if (purpose === "things") {
    return model.review.value === null
      ? "The records are being compared: the first question comes in a moment."
      : "There is no doubtful pair left: what is not answered follows from the answers, or you were unsure.";
  }
  if (model.report.value === null) return "The first questions are being chosen.";
  if (model.report.value.version < model.state.value.version)
    return "The next question is being chosen.";
  return "There is no question left: what is not answered follows from the answers, or you were unsure.";
}

function saidOf(same: Same): string {
  if (same === null) return "Unsure";
  return same ? "Same" : "Different";
}

/** Changes go to the server one after the other, as they were asked for. One that sends nothing gives null. */
export function change(
  model: Model,
  send: () => Promise<State | null>,
  said: (state: State) => string,
  inConflict: (said: Word) => void = () => undefined,
  label = "a change",
): Promise<State | null> {
  if (gone(model)) {
    notify(`Not kept, since the server does not answer: ${label}.`, "problem");
    return Promise.resolve(null);
  }
  const done = model.pending.add(label);
  const changed = model.changes.run(async () => {
    try {
      const state = await send();
      if (state === null) return null;
      forgetUndone(model, state);
      acceptState(model, state);
      announce(said(state));
      if (model.problem !== null) dismiss(model.problem);
      model.problem = null;
      return state;
    } catch (problem) {
      if (problem instanceof ServerError && problem.status === 0) {
        notify(`Perhaps not kept, since the server stopped to answer: ${label}.`, "problem");
      } else notifyProblem(problem);
      if (problem instanceof ServerError) {
        model.problem = problem.message;
        if (problem.said !== null) inConflict(problem.said);
      }
      return null;
    } finally {
      done();
    }
  });
  return underWay(changed);
}

/** What was undone before another change cannot be done again. */
function forgetUndone(model: Model, state: State): void {
  if (state.changes !== undefined && model.steps === 0) model.askedThen.length = 0;
}

/** Like change, and keeps the times for the trace. */
export async function traced(
  model: Model,
  pressedAt: number,
  send: () => Promise<State>,
  said: (state: State) => string,
  inConflict: (said: Word) => void,
  label = "an answer",
): Promise<State | null> {
  const entry = model.trace.answered(pressedAt, performance.now());
  const sendNow = (): Promise<State> => {
    entry.sentAt = performance.now();
    return send();
  };
  const state = await change(model, sendNow, said, inConflict, label);
  if (state === null) model.trace.entries.splice(model.trace.entries.indexOf(entry), 1);
  else model.trace.acknowledged(entry, state.version);
  return state;
}

/** Ask no more about a pair that was put as a question by hand. */
export function askNoMore(model: Model, pair: Pair): void {
  const asked = model.askedAgain.value.filter((one) => !isPair(one, pair));
  if (asked.length < model.askedAgain.value.length) model.askedAgain.set(asked);
}

/** Nobody waits longer for the first review. */
const LATE_MS = 20_000;

/** Begin to review records, or ask how that stands. */
export async function lookAtReview(model: Model): Promise<void> {
  window.setTimeout(() => model.reviewLate.set(true), LATE_MS);
  try {
    const review = await api.review();
    if (review !== null) model.review.set(review);
  } catch (problem) {
    notifyProblem(problem);
  }
}

/** Review a pair no more that was answered. */
export function reviewNoMore(model: Model, pair: Pair): void {
  const { review, reviewing } = model;
  if (review.value !== null) review.set(withoutPair(review.value, pair));
  const now = reviewing.value;
  const asked = now !== null && isPair(now, pair) ? null : now;
  reviewing.set(stillAsked(asked, review.value, model.known.value));
}

/** Put a pair before all other questions. */
export function askFirst(model: Model, question: Asked): void {
  const others = model.askedAgain.value.filter((one) => !isPair(one, question));
  model.askedAgain.set([question, ...others]);
}

/**
 * What was put before all other questions leaves the card with its answer, as those do, and not with the reply: the
 * next key is not for it any more. Gives what brings it back if the answer came to nothing.
 */
export function leaveAsked(model: Model, question: Asked): (state: State | null) => void {
  const put = model.askedAgain.value.includes(question);
  if (put) askNoMore(model, question);
  return (state) => {
    const isThere = model.askedAgain.value.some((one) => isPair(one, question));
    if (put && state === null && !isThere) askFirst(model, question);
  };
}

async function answerPair(
  model: Model,
  pair: Pair,
  same: Same,
  origin: string,
  before: () => Word,
  pressedAt: number,
): Promise<State | null> {
  const { left, right } = pair;
  const { conflicts } = model.state.value;
  return traced(
    model,
    pressedAt,
    () => api.answer(left, right, same, origin, before()),
    (state) => {
      askNoMore(model, pair);
      const known = model.known.value;
      if (known?.version === state.version - 1) {
        model.known.set(withAnswer(known, pair, same, state.version));
      }
      reviewNoMore(model, pair);
      tellOfContradiction(model, conflicts, state);
      return `${saidOf(same)}. ${counted(state.n_answers, "answer")}. Next: ${questionSentence(model)}`;
    },
    (said) =>
      askFirst(model, {
        ...pair,
        origin: "question",
        before: said,
        title: "Two answers: which is right?",
        hint: `${ELSEWHERE[said]} in another browser; you said ${wordOf(same)}. Your next answer counts, Esc leaves it.`,
      }),
    `${wordOf(same)}: ${nameOf(model, left)} and ${nameOf(model, right)}`,
  );
}

/** Say so if an answer contradicts what follows from others. */
export function tellOfContradiction(model: Model, before: number, { conflicts }: State): void {
  if (conflicts <= before) return;
  notify("This contradicts other answers: one of them is wrong. They are listed below.");
  model.panel.set("said");
}

const ELSEWHERE: Record<Word, string> = {
  same: "They were said to be the same",
  different: "They were said to be different",
  unsure: "Someone was unsure of them",
  nothing: "What was said of them was taken back",
};

/** Of a point and one of its neighbours, of which one sees what is said. */
export function answerNeighbour(
  model: Model,
  pair: Pair,
  same: boolean,
  pressedAt: number,
): Promise<State | null> {
  const before = (): Word => {
    const known = model.known.value;
    return known === null ? "nothing" : saidOfPair(known, pair);
  };
  return answerPair(model, pair, same, "neighbors", before, pressedAt);
}

/** s, d and u. */
export async function say(model: Model, same: Same, pressedAt: number): Promise<void> {
  const question = asked(model);
  if (question === null) return;
  if (question.rows !== undefined) return sayOfGroups(model, question, same, pressedAt);
  const { left, right, origin, before } = question;
  // A second press before the next question is shown is not meant for that.
  if (model.answering?.left === left && model.answering.right === right) {
    if (model.pending.shown.value.length > 0) {
      notify("The answer before is still being saved. This press was not counted.");
    }
    return;
  }
  model.answering = { left, right };
  const askAgain = leaveAsked(model, question);
  await answerPair(model, { left, right }, same, origin, () => before, pressedAt).then(askAgain);
  if (model.answering?.left === left && model.answering.right === right) model.answering = null;
}

/** Of some records at once; what contradicts answers before is to be said twice. */
export async function answerMany(
  model: Model,
  send: (before: "nothing" | null) => Promise<GroupsState>,
  said: string,
  sure = false,
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

/** Choose what is asked, and how that is put. */
export async function ask(model: Model, asking: Asking): Promise<void> {
  await change(
    model,
    () => api.ask(asking),
    () => `Asked from now on: ${asking.words}`,
  );
  if (asking.purpose === "things" && model.review.value === null) await lookAtReview(model);
}

/** What a step back or forth asks for, and what becomes of the reply. */
interface Ahead {
  send: () => Promise<State>;
  onReply: (changes: Change[], n: number, undone?: Which) => void;
}

/**
 * A step back or forth. Which one is seen when all that was pressed before is done; null if there is none. What others
 * are told of it waits for its reply, which says what to ask now.
 */
async function step(
  model: Model,
  next: () => Ahead | null,
  said: (state: State) => string,
  label: string,
): Promise<void> {
  let begun = false;
  await change(
    model,
    async () => {
      const ahead = next();
      if (ahead === null) return null;
      begun = true;
      model.steps += 1;
      const state = await ahead.send();
      ahead.onReply(state.changes ?? [], state.n_changes ?? 0, state.undone);
      return state;
    },
    said,
    () => undefined,
    label,
  );
  if (begun) model.steps -= 1;
  if (model.steps === 0) {
    for (const state of model.heldBack.splice(0)) acceptState(model, state);
  }
}

/** Whether the last change was made by somebody else, so that no key undoes it. */
function isOfOthers(model: Model): boolean {
  const me = myName() ?? model.lesson.by;
  return model.people.value.length > 1 && model.state.value.last_by !== me;
}

export async function undo(model: Model): Promise<void> {
  const next = (): Ahead | null => {
    const { can_undo, version } = model.state.value;
    if (!can_undo || isOfOthers(model)) {
      if (!can_undo) announce("There is nothing to undo.");
      else notify(MADE_BY_OTHERS);
      return null;
    }
    const askedNow = asked(model);
    return {
      send: () => api.undo(version),
      onReply: ([undone], n, which) => {
        model.askedThen.push(askedNow);
        // What was undone is asked again, as it was shown, so that it can be put right.
        if (which !== undefined) return askFirst(model, { ...askedOf(which), hint: "Undone." });
        if (undone === undefined) return;
        const { left, right } = undone;
        askFirst(model, {
          left,
          right,
          origin: "question",
          before: undone.now,
          hint: undoneInWords(undone, n),
        });
      },
    };
  };
  const said = (state: State): string =>
    `Undone. ${counted(state.n_answers, "answer")}. ${questionSentence(model)}`;
  await step(model, next, said, "undo");
}

const MADE_BY_OTHERS =
  "The last change was made by somebody else. The list of answers (h) takes back any.";

export async function redo(model: Model): Promise<void> {
  const next = (): Ahead | null => {
    const { can_redo, version } = model.state.value;
    if (!can_redo) {
      announce("There is nothing to redo.");
      return null;
    }
    return {
      send: () => api.redo(version),
      onReply: (changes) => {
        for (const pair of changes) {
          askNoMore(model, pair);
          if (pair.now !== "nothing") reviewNoMore(model, pair);
        }
        // The card returns to what was asked when it was undone.
        const then = model.askedThen.pop() ?? null;
        if (then !== null && !changes.some((pair) => isPair(pair, then))) askFirst(model, then);
      },
    };
  };
  const said = (state: State): string =>
    `Done again. ${counted(state.n_answers, "answer")}. ${questionSentence(model)}`;
  await step(model, next, said, "redo");
}

export async function withdraw(model: Model, suspect: Suspect): Promise<void> {
  const { left, right, same, number, which } = suspect;
  const state = await change(
    model,
    () => (which ? api.withdrawEntry(number) : api.withdraw(left, right, wordOf(same))),
    (after) => `Withdrawn. ${counted(after.n_answers, "answer")}.`,
  );
  const report = model.report.value;
  if (state === null || report === null) return;
  // The next report says what is still suspect; until then the list is without this one.
  const suspects = report.suspects.filter((pair) => pair.left !== left || pair.right !== right);
  model.report.set({ ...report, suspects });
}

export async function withdrawSuspect(model: Model): Promise<void> {
  const suspect = chosenSuspect(model);
  if (suspect === undefined) return announce("There is no suspect to withdraw.");
  await withdraw(model, suspect);
}

export function askAgain(model: Model, { left, right, same, which }: Suspect): void {
  const before = wordOf(same);
  if (which !== null) {
    const title = "Asked again: which is it like?";
    askFirst(model, { ...askedOf(which), origin: "suspect", before, title });
  } else {
    const title = "Asked again: same or different?";
    askFirst(model, { left, right, origin: "suspect", before, title });
  }
  announce(questionSentence(model));
}
