/** What a person can do: each asks the server, and takes over the state that it replies. */

import { api } from "./api";
import { withAnswer } from "./logic/known";
import type { Same, State } from "./logic/types";
import { counted } from "./logic/words";
import { asked, chosenSuspect, groupsReady, type Model, NO_GROUPS } from "./model";
import { announce, notify, notifyProblem } from "./notices";

/** Take over a state unless a newer one is here. The question that is shown stays as long as nothing changed. */
export function acceptState(model: Model, state: State): void {
  const now = model.state.value;
  if (state.version < now.version) return;
  const shown = state.version === now.version ? now.question : null;
  model.state.set({ ...state, question: shown ?? state.question });
}

function nameOf(model: Model, row: number): string {
  const id = model.records.name(row);
  return id === undefined || String(id) === String(row) ? `row ${row}` : `${id}`;
}

export function questionSentence(model: Model): string {
  const question = asked(model);
  if (question === null) return noQuestionSentence(model);
  return `Are ${nameOf(model, question.left)} and ${nameOf(model, question.right)} the same?`;
}

export function noQuestionSentence(model: Model): string {
  if (model.lesson.n_rows < 2) return "There is only one record, so there is nothing to compare.";
  if (model.report.value === null) return "The first questions are being chosen.";
  return "There is no question left: what is not answered follows from the answers, or you were unsure.";
}

function saidOf(same: Same): string {
  if (same === null) return "Unsure";
  return same ? "Same" : "Different";
}

/** Changes go to the server one after the other, as they were asked for. */
function change(
  model: Model,
  send: () => Promise<State>,
  said: (state: State) => string,
): Promise<State | null> {
  return model.changes.run(async () => {
    try {
      const state = await send();
      acceptState(model, state);
      announce(said(state));
      return state;
    } catch (problem) {
      notifyProblem(problem);
      return null;
    }
  });
}

/** Like change, and keeps the times for the trace. */
async function traced(
  model: Model,
  pressedAt: number,
  send: () => Promise<State>,
  said: (state: State) => string,
): Promise<State | null> {
  const entry = model.trace.answered(pressedAt, performance.now());
  const sendNow = (): Promise<State> => {
    entry.sentAt = performance.now();
    return send();
  };
  const state = await change(model, sendNow, said);
  if (state === null) model.trace.entries.splice(model.trace.entries.indexOf(entry), 1);
  else model.trace.acknowledged(entry, state.version);
  return state;
}

export async function answerPair(
  model: Model,
  left: number,
  right: number,
  same: Same,
  origin: string,
  pressedAt: number,
): Promise<void> {
  const state = await traced(
    model,
    pressedAt,
    () => api.answer(left, right, same, origin),
    (state) => {
      const again = model.askedAgain.value;
      if (again?.left === left && again.right === right) model.askedAgain.set(null);
      return `${saidOf(same)}. ${counted(state.n_answers, "answer")}. Next: ${questionSentence(model)}`;
    },
  );
  const known = model.known.value;
  if (state !== null && known?.version === state.version - 1) {
    model.known.set(withAnswer(known, { left, right }, same, state.version));
  }
}

export async function answerQuestion(model: Model, same: Same, pressedAt: number): Promise<void> {
  const question = asked(model);
  if (question === null) return;
  const { left, right, origin } = question;
  // A second press before the next question is shown is not meant for that.
  if (model.answering?.left === left && model.answering.right === right) return;
  model.answering = { left, right };
  await answerPair(model, left, right, same, origin, pressedAt);
  if (model.answering.left === left && model.answering.right === right) model.answering = null;
}

/** Of group A and group B; with same, also of group A alone: all of it is one kind. */
export async function answerGroups(model: Model, same: boolean, pressedAt: number): Promise<void> {
  const { a, b } = model.groups.value;
  if (!groupsReady(model.groups.value) && !(same && a.length > 1)) return;
  model.groups.set(NO_GROUPS);
  let sentence = "";
  const state = await traced(
    model,
    pressedAt,
    async () => {
      const reply = await api.answerGroups(a, b, same);
      sentence = `${saidOf(same)}: ${counted(reply.n_pairs, "pair")} of ${counted(reply.n_possible, "possible one")} recorded.`;
      return reply;
    },
    () => sentence,
  );
  if (state !== null) notify(sentence);
  else model.groups.set({ a, b });
}

/** s, d and u: of the two groups if both are there, else of the question. */
export async function say(model: Model, same: Same, pressedAt: number): Promise<void> {
  if (groupsReady(model.groups.value)) {
    if (same !== null) await answerGroups(model, same, pressedAt);
    return;
  }
  await answerQuestion(model, same, pressedAt);
}

export async function undo(model: Model): Promise<void> {
  await model.changes.idle();
  if (!model.state.value.can_undo) return announce("There is nothing to undo.");
  await change(model, api.undo, (state) => `Undone. ${counted(state.n_answers, "answer")}.`);
}

export async function redo(model: Model): Promise<void> {
  await model.changes.idle();
  if (!model.state.value.can_redo) return announce("There is nothing to redo.");
  await change(model, api.redo, (state) => `Done again. ${counted(state.n_answers, "answer")}.`);
}

export async function withdraw(model: Model, left: number, right: number): Promise<void> {
  const state = await change(
    model,
    () => api.withdraw(left, right),
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
  await withdraw(model, suspect.left, suspect.right);
}

export function askAgain(model: Model, left: number, right: number): void {
  model.askedAgain.set({ left, right, origin: "suspect" });
  announce(questionSentence(model));
}

/** Put points into a group, once each; a point is in one of them only. */
export function addToGroup(model: Model, group: "a" | "b", rows: number[]): void {
  const { a, b } = model.groups.value;
  const mine = new Set(group === "a" ? a : b);
  const single = rows.length === 1 && mine.has(rows[0]);
  for (const row of rows) {
    if (single) mine.delete(row);
    else mine.add(row);
  }
  const other = (group === "a" ? b : a).filter((row) => !mine.has(row));
  const groups = group === "a" ? { a: [...mine], b: other } : { a: other, b: [...mine] };
  model.groups.set(groups);
  const { length } = group === "a" ? groups.a : groups.b;
  const next = groupsReady(groups) ? " Say same or different of the two groups." : "";
  announce(`Group ${group.toUpperCase()}: ${counted(length, "point")}.${next}`);
}
