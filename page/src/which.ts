/** Which of several groups a record is like: what a person can say of that, and of the groups. */

import {
  askFirst,
  askNoMore,
  leaveAsked,
  nameOf,
  questionSentence,
  reviewNoMore,
  tellOfContradiction,
  traced,
} from "./actions";
import { api } from "./api";
import { withAnswer } from "./logic/known";
import type { Pair, Same } from "./logic/types";
import { counted } from "./logic/words";
import { type Asked, asked, type Model } from "./model";
import { announce } from "./notices";

/** Digits that were typed and may go on: of group 1 where there is a group 12 too. */
let typed = "";
let timer = 0;
const GOES_ON_MS = 900;

/** The number of a group is its key, 0 that of none; two digits where it has two. */
export async function chooseByKey(model: Model, digit: number, pressedAt: number): Promise<void> {
  const question = asked(model);
  if (question?.rows === undefined || question.groups === undefined) return;
  const { groups } = question;
  window.clearTimeout(timer);
  const text = `${typed}${digit}`;
  typed = "";
  if (text === "0") return answerWhich(model, question, false, pressedAt);
  const keys = groups.map(({ number }) => String(number + 1));
  const choose = (key: string): Promise<void> =>
    answerWhich(model, question, keys.indexOf(key), pressedAt);
  if (keys.some((key) => key.startsWith(text) && key !== text)) {
    typed = text;
    timer = window.setTimeout(() => {
      typed = "";
      if (keys.includes(text) && asked(model) === question) void choose(text);
    }, GOES_ON_MS);
  } else if (keys.includes(text)) await choose(text);
  else announce(`Group ${text} is not among these.`);
}

/** s, d and u while groups are shown. */
export async function sayOfGroups(
  model: Model,
  question: Asked,
  same: Same,
  pressedAt: number,
): Promise<void> {
  if (same === true) announce("Press the number of the group that it is like, or 0 for none.");
  else await answerWhich(model, question, same, pressedAt);
}

/** The number of a group from 0, false for none of them, null for unsure. */
export async function answerWhich(
  model: Model,
  question: Asked,
  choice: number | false | null,
  pressedAt: number,
): Promise<void> {
  const { left, rows = [], groups = [], origin } = question;
  // What is asked again takes the place of what was said.
  const before = question.before === "nothing" ? "nothing" : null;
  // A second press before the next question is shown is not meant for that.
  if (model.answering?.left === left && model.answering.right === rows[0]) return;
  model.answering = { left, right: rows[0] };
  const right = typeof choice === "number" ? rows[choice] : null;
  const same = typeof choice === "number" ? true : choice;
  const said = typeof choice === "number" ? `Like ${groups[choice].name}` : WORDS[`${choice}`];
  const { conflicts } = model.state.value;
  const askAgain = leaveAsked(model, question);
  const state = await traced(
    model,
    pressedAt,
    () => api.which(left, rows, right, same, origin, before),
    (state) => {
      askNoMore(model, { left, right: rows[0] });
      const known = model.known.value;
      if (known?.version === state.version - 1) {
        model.known.set(
          rows.reduce(
            (all, row) => withAnswer(all, { left, right: row }, of(row), state.version),
            known,
          ),
        );
      }
      for (const row of rows) reviewNoMore(model, { left, right: row });
      tellOfContradiction(model, conflicts, state);
      return `${said}. ${counted(state.n_answers, "answer")}. Next: ${questionSentence(model)}`;
    },
    (word) =>
      askFirst(model, {
        left,
        right: rows[0],
        origin: "question",
        before: word,
        title: "Same or different?",
        hint: `Something else was said of ${nameOf(model, left)} in another browser.`,
      }),
  );
  askAgain(state);
  if (isAnswering(model, { left, right: rows[0] })) model.answering = null;

  function of(row: number): Same {
    return same === true ? row === right : same;
  }
}

const WORDS: Record<string, string> = { false: "None of them", null: "Unsure" };

function isAnswering({ answering }: Model, { left, right }: Pair): boolean {
  return answering?.left === left && answering.right === right;
}
