/** What the server sends, as it sends it. */

export interface Pair {
  left: number;
  right: number;
}

/** What is said of two records, in a word. */
export type Word = "same" | "different" | "unsure" | "nothing";

export interface Change extends Pair {
  before: Word;
  now: Word;
}

/** A group that answers make. */
export interface KnownGroup {
  /** From 0; by it the group is coloured, and one more is its key. */
  number: number;
  name: string;
  /** Whether people have named it. */
  named: boolean;
  size: number;
}

/** The same, with what the metric makes of it. */
export interface Group extends KnownGroup {
  /** Rows that are likely of it. */
  likely: number;
  /** Rows that stand for it. */
  examples: number[];
  /** What tells it apart, in a few words. */
  about: string;
}

/** What is asked: which are the same kind of thing, or the same thing twice; and how that is put. */
export interface Asking {
  purpose: "kinds" | "things";
  words: string;
}

/** A record beside records that stand for groups: which of them is it like? Of one alone: same or different? */
export interface Which {
  left: number;
  rows: number[];
  groups: KnownGroup[];
  origin: "question" | "sought";
}

export interface State {
  version: number;
  /** Of answers, one of which may speak of many pairs. */
  n_answers: number;
  n_same: number;
  n_different: number;
  n_unsure: number;
  can_undo: boolean;
  can_redo: boolean;
  conflicts: number;
  question: Pair | null;
  /** What to ask in its place, if there are groups to choose from. */
  which: Which | null;
  /** A pair that follows from answers, if it is time to see whether these are right. */
  check: Pair | null;
  /** Who made the change that is undone next, if that is known. */
  last_by: string | null;
  /** What is asked, once somebody has chosen it. */
  asked: Asking | null;
  /** The last ten answers said the same, perhaps because of a column. */
  equal: { same: boolean; column: string | null } | null;
  /** What a step back has taken back, if that was a choice among groups. */
  undone?: Which;
  /** What the change that this replies to has changed; 20 pairs at most, of n_changes. */
  changes?: Change[];
  n_changes?: number;
}

export interface GroupsState extends State {
  n_pairs: number;
}

export type ColouringKind = "categories" | "numbers";

export interface ColouringName {
  key: string;
  name: string;
  kind: ColouringKind;
}

export interface Lesson {
  source: string;
  n_rows: number;
  n_total: number;
  n_features: number;
  features: string[];
  has_images: boolean;
  id_name: string;
  colourings: ColouringName[];
  /** The file that answers are kept in; null if they are in memory only. */
  journal: string | null;
  /** Whether rows are records, of whose words the features are made. */
  of_words: boolean;
  /** Whether columns have names, so that others can be learned from. */
  has_columns: boolean;
  /** Whether there are records whose doubtful pairs can be reviewed. */
  review: boolean;
  /** Who answers, where the page has no name. */
  by: string | null;
  notes: string[];
  state: State;
  nearkin: string;
  /** Tells this run of the server from others. */
  run: string;
}

/** A column of the data: whether it is learned from, and why not, or what speaks against it. */
export interface Column {
  name: string;
  kind: string;
  learned: boolean;
  why: string;
  can: boolean;
}

export interface Columns {
  columns: Column[];
  /** Whether columns are brought to one scale. */
  standardised: boolean;
}

export interface Known {
  version: number;
  must_link: number[];
  cannot_link: number[];
  unsure: number[];
}

export interface Quality {
  /** Value and ends of the 90 % interval of auc, euclidean_auc, precision, recall and f1; empty where unknown. */
  figures: Record<string, Estimate>;
  enough: boolean;
  said: string;
}

/** Pair AUC after so many answers, with the ends of its 90 % interval; and that of the Euclidean distance. */
export interface QualityPoint {
  answers: number;
  auc: number;
  low: number;
  high: number;
  euclidean: number;
  euclidean_low: number;
  euclidean_high: number;
}

export interface Outlook {
  said: string;
  /** Of the next ten answers, in pair AUC; null where it is too early to say. */
  gain: number | null;
  low: number | null;
  high: number | null;
}

export interface Suspect extends Pair {
  same: boolean;
  /** Of the entry that says so; 0 for what was known from the start. */
  number: number;
  /** What was answered there, if it is a choice among groups. */
  which: Which | null;
  chance_opposite: number;
  said: string;
}

/** Who has answered, and the share that is wrong, with its 90 % interval. */
export interface Answerer {
  name: string;
  n_answers: number;
  wrong: number;
  low: number;
  high: number;
}

/** What one person said of a pair. */
export interface Voice {
  by: string;
  said: Word;
  at: string | null;
}

/** What was said at one time, as far as it still counts. */
export interface Answered extends Pair {
  /** Of the entry, 0 for what was known from the start. */
  number: number;
  ids: [string, string];
  /** More than one where it was said of groups; the first of them is shown. */
  n_pairs: number;
  n_rows: number;
  said: Word | "several";
  by: string | null;
  at: string | null;
  voices: Voice[];
}

export interface AnswerList {
  version: number;
  n_answers: number;
  n_found: number;
  names: string[];
  answers: Answered[];
}

/** Someone who has the studio open. */
export interface Person {
  browser: string;
  name: string | null;
}

/** Two records that are said to differ, and a chain of records, each said to be the same as the next. */
export interface Contradiction extends Pair {
  chain: number[];
}

export interface Report {
  version: number;
  learner: string;
  quality: Quality;
  /** Quality after earlier answers, and now. */
  course: QualityPoint[];
  outlook: Outlook;
  suspects: Suspect[];
  contradictions: Contradiction[];
  answerers: { listed: Answerer[]; said: string };
  questions: Pair[];
  notes: string[];
}

/** A value and the ends of its 90 % interval. */
export type Estimate = [number, number, number];

export interface ReviewPair extends Pair {
  /** To be the same. */
  chance: number;
}

/** Records that are likely the same thing. */
export interface Found {
  rows: number[];
  chance: number;
  /** Whether answers say so. */
  settled: boolean;
}

/** Doubtful pairs of records, those first whose answer would change the groups most. */
export interface Review {
  version: number;
  pairs: ReviewPair[];
  /** Groups of records that are the same thing, and records in them. */
  n_groups: number;
  n_grouped: number;
  /** The least certain first. */
  groups: Found[];
  /** That it is learned from. */
  n_answers: number;
  notes: string[];
}

export interface ColouringInfo {
  key: string;
  name: string;
  kind: ColouringKind;
  categories: string[] | null;
  range: [number, number] | null;
}

export interface Colouring extends ColouringInfo {
  /** One number for each point: of a category, or the number itself; NaN is unknown. */
  values: Float32Array;
  /** 1 where a group is unsure. */
  pale?: Uint8Array;
}

/** The group of every row. */
export interface Groups {
  version: number;
  groups: Group[];
  colouring: Colouring;
}

export interface Field {
  name: string;
  value: string;
  cut: boolean;
  /** Where it differs from the other record's: the value in parts, and whether each of them does. */
  parts?: [string, boolean][];
  /** So many characters were compared; nothing is known of those after them. */
  marked?: number;
  /** Of an amount: the share of all rows that are below. */
  rank?: number;
}

export interface DataRecord {
  row: number;
  id: string | number;
  fields: Field[];
  image: boolean;
}

export interface Neighbour {
  row: number;
  id: string | number;
  distance: number;
  same: boolean | null;
}

/** A column's share of the squared distance of two records, and what they have in it. */
export interface WhyColumn {
  name: string;
  share: number;
  values: [string, string];
}

/** A word in a cell, and by what share the squared distance falls without it. */
export interface WhyWord {
  text: string;
  where: "left" | "right" | "both";
  share: number;
}

export interface WhyAnswer extends Pair {
  same: boolean;
  names: [string, string];
  /** Of the distance without this answer, in per cent: above 0, it pulled together. */
  change?: number;
}

/** Why two records are as near as they are. */
export interface Why extends Pair {
  version: number;
  distance: number;
  threshold: number;
  /** Null before the first answer. */
  chance: number | null;
  of_vectors: boolean;
  columns: WhyColumn[];
  others: number;
  n_others: number;
  words: Record<string, WhyWord[]>;
  /** Shares of the pixels of a picture, row by row. */
  heat: { height: number; width: number; shares: number[] } | null;
  answers: (WhyAnswer & { change: number })[];
  near: WhyAnswer[];
}

export interface Neighbours {
  version: number;
  neighbors: Neighbour[];
}

/** Coordinates x0 y0 x1 y1 … of all points for one version of what is known. */
export interface Layout {
  version: number;
  /** Of neighbours, or along principal axes. */
  ofNeighbors: boolean;
  /** Of the way to this layout that is gone. */
  percent: number;
  coordinates: Float32Array;
}

export type Same = boolean | null;
