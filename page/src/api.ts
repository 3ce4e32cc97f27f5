/** Requests to the own server. */

import type { Asked } from "./live";
import {
  decodeMatches,
  type Filter,
  type Matches,
  type SearchColumn,
  searchOf,
} from "./logic/finding";
import { decodeFloats, decodeGroups, decodeLayout } from "./logic/messages";
import type {
  AnswerList,
  Asking,
  Colouring,
  ColouringInfo,
  Columns,
  DataRecord,
  Groups,
  GroupsState,
  Known,
  Layout,
  Lesson,
  Neighbours,
  Report,
  Review,
  Same,
  State,
  Why,
  Word,
} from "./logic/types";
import { token } from "./session";
import { underWay } from "./settled";
import { myName } from "./who";

export class ServerError extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** What is said already, if that is why. */
    readonly said: Word | null = null,
  ) {
    super(message);
  }
}

export type ExportName = "pairs" | "embedding" | "model" | "groups" | "duplicates";

/** Which answers to list. */
export interface AnswerQuery extends Record<string, string | number> {
  start: number;
  n: number;
}

/** Tells this page from others that are open. */
const TAB = Math.random().toString(36).slice(2);

/** Addresses are relative to the page, which may be served below another path. */
function address(path: string, query: Record<string, string | number> = {}): URL {
  const url = new URL(`./api/${path}`, window.location.href.split(/[?#]/)[0]);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  return url;
}

/** Said of a server that is gone. */
export const NO_ANSWER = "The server does not answer.";

/** What a server sends, or the error that says it is gone: at once, or in the middle of a reply. */
async function unlessGone<T>(sent: Promise<T>): Promise<T> {
  try {
    return await sent;
  } catch (problem) {
    throw problem instanceof TypeError ? new ServerError(0, NO_ANSWER) : problem;
  }
}

async function request(url: URL, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("X-Nearkin-Token", token());
  headers.set("X-Nearkin-Tab", TAB);
  const response = await unlessGone(fetch(url, { ...init, headers }));
  if (response.ok) return response;
  const body = (await response.json().catch(() => ({}))) as { message?: unknown; said?: Word };
  const message = typeof body.message === "string" ? body.message : "";
  throw new ServerError(
    response.status,
    message || `The server refused this (${response.status}).`,
    body.said ?? null,
  );
}

async function get<T>(path: string, query: Record<string, string | number> = {}): Promise<T> {
  const response = await request(address(path, query));
  return unlessGone(response.json() as Promise<T>);
}

async function post<T>(path: string, body?: unknown): Promise<T> {
  const response = await send(path, body);
  return unlessGone(response.json() as Promise<T>);
}

function send(path: string, body?: unknown): Promise<Response> {
  const init: RequestInit = { method: "POST" };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { "Content-Type": "application/json" };
  }
  return request(address(path), init);
}

/** A file to keep, and its name. */
async function fileOf(response: Response, name: string): Promise<[Blob, string]> {
  const said = response.headers.get("Content-Disposition") ?? "";
  return [await unlessGone(response.blob()), /filename="([^"]+)"/.exec(said)?.[1] ?? name];
}

const requests = {
  lesson: () => get<Lesson>("lesson"),
  known: () => get<Known>("known"),
  learnedColumns: () => get<Columns>("learned-columns"),
  learnFrom: (columns: string[], standardise: boolean | null) =>
    post<Columns>("learned-columns", { columns, standardise }),

  async layout(): Promise<Layout> {
    const response = await request(address("layout"));
    return decodeLayout(await unlessGone(response.arrayBuffer()));
  },

  async report(): Promise<Report | null> {
    const response = await request(address("report"));
    return response.status === 204 ? null : unlessGone(response.json() as Promise<Report>);
  },

  /** The last review, if there is one yet; pages are told of reviews from now on. */
  async review(): Promise<Review | null> {
    const response = await request(address("review"));
    return response.status === 204 ? null : unlessGone(response.json() as Promise<Review>);
  },

  /** The groups of all rows, by what is known and learned now. */
  async groups(): Promise<Groups> {
    const response = await request(address("groups"));
    return decodeGroups(await unlessGone(response.arrayBuffer()));
  },

  async colouring(key: string): Promise<Colouring> {
    const path = `colourings/${encodeURIComponent(key)}`;
    const [info, values] = await Promise.all([
      get<ColouringInfo>(path),
      request(address(`${path}/values`)).then((response) => unlessGone(response.arrayBuffer())),
    ]);
    return { ...info, values: decodeFloats(values) };
  },

  record: (row: number, beside?: number, whole = false) =>
    get<DataRecord>(`records/${row}`, {
      ...(beside === undefined ? {} : { beside }),
      ...(whole ? { whole: "true" } : {}),
    }),
  neighbours: (row: number, n = 10) => get<Neighbours>(`records/${row}/neighbors`, { n }),
  why: (left: number, right: number) => get<Why>("why", { left, right }),
  image: async (row: number, side: number) => {
    const response = await request(address(`records/${row}/image`, { side }));
    return unlessGone(response.blob());
  },

  columns: () => get<SearchColumn[]>("columns"),
  async search(filter: Filter, n_rows: number): Promise<Matches> {
    const response = await send("search", searchOf(filter));
    return decodeMatches(await unlessGone(response.arrayBuffer()), n_rows);
  },
  rows: (rows: number[]) => post<DataRecord[]>("rows", { rows }),
  rowsFile: async (rows: number[]) => fileOf(await send("rows/file", { rows }), "selection.csv"),

  /** With what is believed to be said before: if it is something else, nothing is changed. */
  answer: (left: number, right: number, same: Same, origin: string, before: Word) =>
    post<State>("answers", { left, right, same, origin, before, by: myName() }),
  which: (
    left: number,
    rows: number[],
    right: number | null,
    same: Same,
    origin: string,
    before: "nothing" | null,
  ) => post<State>("which", { left, rows, right, same, origin, before, by: myName() }),
  nameGroup: (row: number, name: string | null) => post<State>("groups/name", { row, name }),
  ask: ({ purpose, words }: Asking) => post<State>("ask", { purpose, words }),
  answerGroups: (first: number[], second: number[], same: boolean, before: "nothing" | null) =>
    post<GroupsState>("groups", { first, second, same, before, by: myName() }),
  split: (rows: number[], others: number[], before: "nothing" | null) =>
    post<GroupsState>("groups/split", { rows, others, before, by: myName() }),
  withdraw: (left: number, right: number, before: Word) =>
    post<State>("withdrawals", { left, right, before }),
  /** The last step, if there was none after a version. */
  undo: (version: number) => post<State>("undo", { version }),
  redo: (version: number) => post<State>("redo", { version }),
  answers: (query: AnswerQuery) => get<AnswerList>("answers", query),
  withdrawEntry: (number: number) => post<State>("answers/withdrawals", { number }),

  /** A file to keep, and its name. */
  async export(name: ExportName): Promise<[Blob, string]> {
    return fileOf(await request(address(`export/${name}`)), name);
  },
};

/** The same functions; what they ask for is under way until it is here as a whole. */
function followed<Functions extends Record<string, (...values: never[]) => Promise<unknown>>>(
  functions: Functions,
): Functions {
  const entries = Object.entries(functions).map(([name, ask]) => [
    name,
    (...values: never[]) => underWay(ask(...values)),
  ]);
  return Object.fromEntries(entries) as Functions;
}

export const api = {
  ...followed(requests),

  /** What there is to hear after a message, for pages that no WebSocket reaches. */
  async nextLive(after: number, hello: string): Promise<Asked> {
    const response = await request(address("live/next", { after, hello }));
    if (response.status === 204) return null;
    const number = Number(response.headers.get("X-Nearkin-Number"));
    const isText = response.headers.get("Content-Type")?.startsWith("application/json") ?? false;
    const data: Promise<string | ArrayBuffer> = isText ? response.text() : response.arrayBuffer();
    return { number, data: await unlessGone(data) };
  },

  openLive(): WebSocket {
    const url = address("live").href.replace(/^http/, "ws");
    // A second protocol is the only place for a token but the address.
    return new WebSocket(url, ["nearkin", token()]);
  },
};
