/** All that the page knows. Views listen to it, actions change it. */

import { api } from "./api";
import type { Connection } from "./live";
import type { Theme } from "./logic/colours";
import { type Filter, type Matches, NO_FILTER } from "./logic/finding";
import { GROUPS } from "./logic/messages";
import { Trace } from "./logic/trace";
import type {
  Colouring,
  Groups,
  Known,
  KnownGroup,
  Layout,
  Lesson,
  Pair,
  Person,
  Report,
  Review,
  ReviewPair,
  State,
  Suspect,
  Which,
  Word,
} from "./logic/types";
import { Pending } from "./pending";
import { Queue } from "./queue";
import { RecordCache } from "./record_cache";
import { Signal, type Source } from "./signal";
import { remembered } from "./storage";

export interface Asked extends Pair {
  origin: "question" | "sought" | "check" | "suspect" | "review" | "list";
  /** What was said of the two when they were put as a question. */
  before: Word;
  /** Records of groups in the place of the right one: which of them is the left one like? */
  rows?: number[];
  groups?: KnownGroup[];
  /** Why they are asked again. */
  title?: string;
  hint?: string;
}

/** What the panel shows: nothing but its line, what was said, how good that is, or the selected point. */
export type PanelName = "closed" | "said" | "details" | "point";

export type MapChoice = "neighbors" | "axes";

export interface Model {
  lesson: Lesson;
  state: Signal<State>;
  report: Signal<Report | null>;
  known: Signal<Known | null>;
  /** The map of what was learned, along principal axes and by neighbours. */
  learned: Signal<Layout | null>;
  neighbors: Signal<Layout | null>;
  mapChoice: Signal<MapChoice>;
  connection: Signal<Connection>;
  /** Requests that change what is known. */
  changes: Queue;
  /** The pair whose answer is on its way. */
  answering: Pair | null;
  /** Pairs that are asked before the server's own questions: undone, in conflict, or put by hand. */
  askedAgain: Signal<Asked[]>;
  /** What was pressed and is not confirmed yet. */
  pending: Pending;
  /** What was asked when each step was undone that can be done again. */
  askedThen: (Asked | null)[];
  /** Who has the studio open. */
  people: Signal<Person[]>;
  /** Steps back and forth that are under way, and the states that all pages were told meanwhile. */
  steps: number;
  heldBack: State[];
  /** Why the last change came to nothing, as it was told. */
  problem: string | null;
  selected: Signal<number | null>;
  hovered: Signal<number | null>;
  /** Two records whose nearness is explained, and an answer that is looked at on the way. */
  why: Signal<Pair | null>;
  looked: Signal<Pair | null>;
  /** Points within an outline that was drawn. */
  selection: Signal<number[]>;
  lassoMode: Signal<boolean>;
  /** The groups of all rows. */
  groups: Signal<Groups | null>;
  /** The group whose line in the legend is open. */
  chosen: Signal<number | null>;
  suspect: Signal<number>;
  review: Signal<Review | null>;
  /** The first one takes long: any pair may be asked until then. */
  reviewLate: Signal<boolean>;
  /** The doubtful pair that is asked where duplicates are. */
  reviewing: Signal<ReviewPair | null>;
  /** The panel that is open. */
  panel: Signal<PanelName>;
  colouringKey: Signal<string>;
  colouring: Signal<Colouring | null>;
  /** A category that stands out, as the legend is pointed at. */
  category: Signal<number | null>;
  /** Names at their places on the map. */
  showNames: Signal<boolean>;
  theme: Signal<Theme>;
  shortcuts: Signal<boolean>;
  /** What is looked for, what was found, and whether that takes a while. */
  filter: Signal<Filter>;
  matches: Signal<Matches | null>;
  searching: Signal<boolean>;
  records: RecordCache;
  trace: Trace;
}

export function createModel(lesson: Lesson, theme: Signal<Theme>): Model {
  return {
    lesson,
    state: new Signal(lesson.state),
    report: new Signal<Report | null>(null),
    known: new Signal<Known | null>(null),
    learned: new Signal<Layout | null>(null),
    neighbors: new Signal<Layout | null>(null),
    mapChoice: new Signal<MapChoice>(remembered("map") === "axes" ? "axes" : "neighbors"),
    connection: new Signal<Connection>("connecting"),
    changes: new Queue(),
    answering: null,
    askedAgain: new Signal<Asked[]>([]),
    pending: new Pending(),
    askedThen: [],
    people: new Signal<Person[]>([]),
    steps: 0,
    heldBack: [],
    problem: null,
    selected: new Signal<number | null>(null),
    hovered: new Signal<number | null>(null),
    why: new Signal<Pair | null>(null),
    looked: new Signal<Pair | null>(null),
    selection: new Signal<number[]>([]),
    lassoMode: new Signal(false),
    groups: new Signal<Groups | null>(null),
    chosen: new Signal<number | null>(null),
    suspect: new Signal(0),
    review: new Signal<Review | null>(null),
    reviewLate: new Signal(false),
    reviewing: new Signal<ReviewPair | null>(null),
    panel: new Signal<PanelName>("closed"),
    colouringKey: new Signal(firstColouring(lesson)),
    colouring: new Signal<Colouring | null>(null),
    category: new Signal<number | null>(null),
    showNames: new Signal(remembered("names") !== "off"),
    theme,
    shortcuts: new Signal(true),
    filter: new Signal(NO_FILTER),
    matches: new Signal<Matches | null>(null),
    searching: new Signal(false),
    records: new RecordCache(api.record),
    trace: new Trace(),
  };
}

/** As it was when the page was left, if there is such a column; else groups. */
function firstColouring(lesson: Lesson): string {
  const kept = remembered("colour") ?? GROUPS;
  return lesson.colourings.some(({ key }) => key === kept) ? kept : GROUPS;
}

/** What is asked; null as long as somebody is to choose it. */
export function purposeOf({ state, lesson }: Model): "kinds" | "things" | null {
  return state.value.asked?.purpose ?? (lesson.review ? null : "kinds");
}

export const WORDS = {
  kinds: "The same kind of thing?",
  things: "The same thing twice?",
};

/** How the question is put. */
export function wordsOf(model: Model): string {
  return model.state.value.asked?.words ?? WORDS[purposeOf(model) ?? "kinds"];
}

/** The map that is shown of what was learned: principal axes until there is one of neighbours. */
export function shownLayout({ mapChoice, neighbors, learned }: Model): Layout | null {
  return mapChoice.value === "neighbors" && neighbors.value !== null
    ? neighbors.value
    : learned.value;
}

/** What is asked now. */
export function asked(model: Model): Asked | null {
  const [again] = model.askedAgain.value;
  if (again !== undefined) return again;
  const purpose = purposeOf(model);
  if (purpose === null) return null;
  // Pairs at random are hardly ever the same thing: those that may be come with the first review.
  const late = model.reviewLate.value || !model.lesson.review;
  if (purpose === "things" && (model.review.value !== null || !late)) return reviewed(model);
  const { question, which, check } = model.state.value;
  if (check !== null) return { ...check, origin: "check", before: "nothing", hint: CHECK_HINT };
  if (which !== null && !PAIRS_ONLY) return askedOf(which);
  return question && { ...question, origin: "question", before: "nothing" };
}

/** The same if it is about two records. */
export function pairAsked(model: Model): Asked | null {
  const question = asked(model);
  return question?.rows === undefined ? question : null;
}

/** For tests of questions about pairs. */
const PAIRS_ONLY = remembered("by-groups") === "off";

const CHECK_HINT = "Asked to see whether earlier answers agree.";

/** Beside one group alone, it is a question about a pair. */
export function askedOf({ left, rows, groups, origin }: Which): Asked {
  const pair = { left, right: rows[0], origin, before: "nothing" as const };
  return rows.length > 1 ? { ...pair, rows, groups } : pair;
}

function reviewed(model: Model): Asked | null {
  const pair = model.reviewing.value;
  if (pair === null) return null;
  const { left, right } = pair;
  return { left, right, origin: "review", before: "nothing" };
}

/** What is asked may be another question when one of these changes. */
export function asksAnew(model: Model): Source[] {
  const { state, askedAgain, reviewing, review, reviewLate } = model;
  return [state, askedAgain, reviewing, review, reviewLate];
}

/** Whether the server is not there, so that nothing can be answered. */
export function gone({ connection }: Model): boolean {
  return connection.value === "lost" || connection.value === "refused";
}

export function chosenSuspect(model: Model): Suspect | undefined {
  return model.report.value?.suspects[model.suspect.value];
}
