/** All that the page knows. Views listen to it, actions change it. */

import { api } from "./api";
import type { Connection } from "./live";
import type { Theme } from "./logic/colours";
import { type Filter, type Matches, NO_FILTER } from "./logic/finding";
import { Trace } from "./logic/trace";
import type {
  Colouring,
  Grouping,
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
import { percent } from "./logic/words";
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

export interface Groups {
  a: number[];
  b: number[];
  /** Different things were said of some of their pairs: whoever says it again means it. */
  sure?: boolean;
}

export const NO_GROUPS: Groups = { a: [], b: [] };

/** Groups that were found and are chosen in the legend, two at most. */
export interface ChosenGroups {
  numbers: number[];
  /** As with groups that are drawn. */
  sure?: boolean;
}

export const NONE_CHOSEN: ChosenGroups = { numbers: [] };

export type PanelName = "review" | "quality" | "suspects" | "answers" | "point";

export type MapChoice = "neighbors" | "axes";

/** Euclidean at 0, learned at 1. */
export type Blend = number;

export interface Model {
  lesson: Lesson;
  state: Signal<State>;
  report: Signal<Report | null>;
  known: Signal<Known | null>;
  /** The map of what was learned, along principal axes and by neighbours. */
  learned: Signal<Layout | null>;
  neighbors: Signal<Layout | null>;
  mapChoice: Signal<MapChoice>;
  euclidean: Signal<Layout | null>;
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
  /** Whether it is said which of two neighbours of the selected point is nearer, and the nearer one of them. */
  ordering: Signal<boolean>;
  nearer: Signal<number | null>;
  /** Two records whose nearness is explained, and an answer that is looked at on the way. */
  why: Signal<Pair | null>;
  looked: Signal<Pair | null>;
  groups: Signal<Groups>;
  lassoMode: Signal<boolean>;
  /** Groups that were found, and the version of knowledge by which they are being found anew. */
  grouping: Signal<Grouping | null>;
  finding: Signal<number | null>;
  chosen: Signal<ChosenGroups>;
  /** Whether records are asked about beside those of several groups, and not in pairs alone. */
  byGroups: Signal<boolean>;
  suspect: Signal<number>;
  review: Signal<Review | null>;
  /** The doubtful pair that is asked while the review is open. */
  reviewing: Signal<ReviewPair | null>;
  /** The panel that is open. */
  panel: Signal<PanelName>;
  colouringKey: Signal<string>;
  colouring: Signal<Colouring | null>;
  /** A category that stands out, as the legend is pointed at. */
  category: Signal<number | null>;
  clusters: Signal<number>;
  /** Lines of all that was said, not only of the pair that is asked. */
  showLinks: Signal<boolean>;
  /** Names at their places on the map. */
  showNames: Signal<boolean>;
  blend: Signal<Blend>;
  theme: Signal<Theme>;
  shortcuts: Signal<boolean>;
  /** What is looked for, what was found, and whether that takes a while. */
  filter: Signal<Filter>;
  matches: Signal<Matches | null>;
  searching: Signal<boolean>;
  /** Whether the card has the whole width, to read long texts and to see large pictures. */
  reading: Signal<boolean>;
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
    euclidean: new Signal<Layout | null>(null),
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
    ordering: new Signal(false),
    nearer: new Signal<number | null>(null),
    why: new Signal<Pair | null>(null),
    looked: new Signal<Pair | null>(null),
    groups: new Signal(NO_GROUPS),
    lassoMode: new Signal(false),
    grouping: new Signal<Grouping | null>(null),
    finding: new Signal<number | null>(null),
    chosen: new Signal(NONE_CHOSEN),
    byGroups: new Signal(remembered("by-groups") !== "off"),
    suspect: new Signal(0),
    review: new Signal<Review | null>(null),
    reviewing: new Signal<ReviewPair | null>(null),
    panel: new Signal<PanelName>(lesson.review && lesson.of_words ? "review" : "quality"),
    colouringKey: new Signal(firstColouring(lesson)),
    colouring: new Signal<Colouring | null>(null),
    category: new Signal<number | null>(null),
    clusters: new Signal(10),
    showLinks: new Signal(false),
    showNames: new Signal(remembered("names") !== "off"),
    blend: new Signal(1),
    theme,
    shortcuts: new Signal(true),
    filter: new Signal(NO_FILTER),
    matches: new Signal<Matches | null>(null),
    searching: new Signal(false),
    reading: new Signal(false),
    records: new RecordCache(api.record),
    trace: new Trace(),
  };
}

function firstColouring(lesson: Lesson): string {
  return lesson.colourings.some(({ key }) => key === "known") ? "known" : "";
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
  if (model.panel.value === "review") return reviewed(model);
  const { question, which, check } = model.state.value;
  if (check !== null) return { ...check, origin: "check", before: "nothing", hint: CHECK_HINT };
  if (which !== null && model.byGroups.value) return askedOf(which);
  return question && { ...question, origin: "question", before: "nothing" };
}

const CHECK_HINT = "Asked to see whether earlier answers agree.";

/** Beside one group alone, it is a question about a pair. */
export function askedOf({ left, rows, groups, origin }: Which): Asked {
  const pair = { left, right: rows[0], origin, before: "nothing" as const };
  return rows.length > 1 ? { ...pair, rows, groups } : pair;
}

function reviewed(model: Model): Asked | null {
  const pair = model.reviewing.value;
  if (pair === null) return null;
  const { left, right, chance } = pair;
  const hint = `By all that is known, the chance that they are the same is ${percent(chance)}.`;
  return { left, right, origin: "review", before: "nothing", hint };
}

/** What is asked may be another question when one of these changes. */
export function asksAnew(model: Model): Source[] {
  const { state, askedAgain, panel, reviewing, review, byGroups } = model;
  return [state, askedAgain, panel, reviewing, review, byGroups];
}

/** Whether the server is not there, so that nothing can be answered. */
export function gone({ connection }: Model): boolean {
  return connection.value === "lost" || connection.value === "refused";
}

export function chosenSuspect(model: Model): Suspect | undefined {
  return model.report.value?.suspects[model.suspect.value];
}

/** Both groups are there, so that same and different are said of them. */
export function groupsReady({ a, b }: Groups): boolean {
  return a.length > 0 && b.length > 0;
}
