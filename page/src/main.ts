/** Puts the page together. */

import { acceptState, acceptToldState, lookAtReview } from "./actions";
import { api, ServerError } from "./api";
import { coalesced } from "./coalesce";
import { keepMatches } from "./finding";
import { greetCell } from "./framed";
import { keepGroups } from "./groups";
import { listenToKeys } from "./keys";
import { openLive } from "./live";
import type { LiveMessage } from "./logic/messages";
import { stillAsked } from "./logic/review";
import type { Lesson } from "./logic/types";
import { counted } from "./logic/words";
import { asked, createModel, type Model, purposeOf } from "./model";
import { announce, notify, notifyProblem } from "./notices";
import { isWebGlThere } from "./scatter/plot";
import { listenToArrows, listenToMouse } from "./scatter/pointing";
import { createStage, type Stage } from "./scatter/stage";
import { enter, stay } from "./session";
import { afterPause, note, reloadPage, underWay } from "./settled";
import { showAll } from "./signal";
import { createTheme } from "./theme";
import { prepareColumns } from "./view/columns";
import { byId, h } from "./view/dom";
import { showFind } from "./view/find";
import { showHeader } from "./view/header";
import { prepareHelp } from "./view/help";
import { showHoverCard } from "./view/hover_card";
import { prepareInfo } from "./view/info";
import { showLegend } from "./view/legend";
import { showPanel } from "./view/panel";
import { showPeople } from "./view/people";
import { showQuestion } from "./view/question";
import { showSaving } from "./view/saving";
import { showSelection } from "./view/selection";
import { showMapProgress, showTools } from "./view/tools";
import { showWhy } from "./view/why";
import { myBrowser, myName, onNaming } from "./who";

async function start(): Promise<void> {
  greetCell();
  const theme = createTheme();
  await enter();
  const model = createModel(await api.lesson(), theme);
  stay();
  model.state.show(({ version }) => note("version", version));
  model.report.show((report) => note("reportVersion", report?.version ?? null));
  for (const id of ["studio", "tools"]) byId(id).hidden = false;
  showHeader(model);
  prepareHelp(model);
  prepareColumns();
  showQuestion(model);
  showSaving(model);
  showWhy(model);
  showPanel(model);
  prepareInfo(model);
  showPeople(model);
  keepMatches(model);
  showFind(model);

  keepKnown(model);
  listenLive(model);
  if (purposeOf(model) === "things") void lookAtReview(model);

  const stage = await tryStage(model);
  showTools(model, stage?.plot ?? null);
  listenToKeys(model, stage);
  offerToTests(model, stage);
}

/** An answer of this page is known from its reply; for all else the server is asked, once the map has moved. */
const AFTER_REPLY_MS = 150;

function keepKnown(model: Model): void {
  const fetchKnown = coalesced(async () => {
    try {
      model.known.set(await api.known());
    } catch (problem) {
      notifyProblem(problem);
    }
  });
  const behind = (): boolean => model.known.value?.version !== model.state.value.version;
  const later = afterPause(() => behind() && fetchKnown(), AFTER_REPLY_MS);
  model.state.listen(later.start);
  fetchKnown();
}

function listenLive(model: Model): void {
  const onMessage = (message: LiveMessage): void => {
    switch (message.type) {
      case "state":
        acceptToldState(model, message.state);
        break;
      case "layout":
        (message.layout.ofNeighbors ? model.neighbors : model.learned).set(message.layout);
        break;
      case "problem":
        notify(message.message, "problem");
        break;
      case "review":
        model.review.set(message.review);
        model.reviewing.set(stillAsked(model.reviewing.value, message.review, model.known.value));
        break;
      case "people":
        model.people.set(message.people);
        break;
      case "report":
        model.report.set(message.report);
    }
  };
  let lost = false;
  const live = openLive(api, {
    onMessage,
    hello: () => JSON.stringify({ browser: myBrowser(), name: myName() }),
    isWelcome: () =>
      api.lesson().then(
        () => true,
        (problem) => !isRefusal(problem),
      ),
    onConnection: (connection) => {
      if (connection === "lost" && !lost) announce("The connection was lost. Reconnecting.");
      if (connection === "open") live.say(model.mapChoice.value);
      if (connection === "open" && lost) void reload(model);
      lost = connection === "lost";
      model.connection.set(connection);
    },
  });
  onNaming(live.greet);
  model.mapChoice.listen((choice) => live.say(choice));
}

/** After a break the server may be another one: of the same records, or of others. */
async function reload(model: Model): Promise<void> {
  try {
    const lesson = await api.lesson();
    if (dataOf(lesson) !== dataOf(model.lesson)) return reloadPage();
    // Versions of another run may be lower; within one run, what is newer is here already.
    if (lesson.run !== model.lesson.run) {
      model.lesson.run = lesson.run;
      model.askedThen.length = 0;
      model.state.set(lesson.state);
    } else acceptState(model, lesson.state);
    const [report, learned, known] = await Promise.all([api.report(), api.layout(), api.known()]);
    model.report.set(report);
    model.learned.set(learned);
    model.known.set(known);
    if (model.review.value !== null) void lookAtReview(model);
    announce("Connected again.");
  } catch (problem) {
    notifyProblem(problem);
  }
}

function dataOf(lesson: Lesson): string {
  return JSON.stringify({ ...lesson, state: null, run: null });
}

async function tryStage(model: Model): Promise<Stage | null> {
  if (!isWebGlThere()) return withoutMap();
  let stage: Stage;
  try {
    stage = await createStage(model);
  } catch (problem) {
    console.error(problem);
    return withoutMap();
  }
  byId("points").addEventListener("webglcontextlost", () => {
    notify("The browser took the map's graphics away. Load the page again to see it.", "problem");
  });
  keepGroups(model);
  showLegend(model);
  showSelection(model);
  showMapProgress(model);
  showHoverCard(model, stage);
  listenToMouse(model, stage);
  listenToArrows(model, stage);
  summarise(model);
  return stage;
}

function withoutMap(): null {
  const message =
    "The map needs WebGL, which this browser does not have or has turned off. Questions, answers and " +
    "export work without it.";
  for (const id of ["stage", "legend", "toolbar"]) byId(id).hidden = true;
  byId("frame").prepend(
    h("p", { class: "no-map", role: "status", text: message, testid: "no-webgl" }),
  );
  return null;
}

/** What the map shows, in words. */
function summarise(model: Model): void {
  showAll([model.colouring], () => {
    const { n_rows } = model.lesson;
    const colour = model.colouring.value ? ` Colours show ${model.colouring.value.name}.` : "";
    byId("map-summary").textContent =
      `${counted(n_rows, "point")}, near each other where records are alike. A line joins the pair that is asked.` +
      `${colour} ` +
      "Arrow keys step from point to point, Enter selects.";
  });
}

/** What browser tests read. */
function offerToTests(model: Model, stage: Stage | null): void {
  Object.assign(window, {
    nearkin: {
      get version() {
        return stage?.shownVersion() ?? null;
      },
      get arranged() {
        return stage?.isArranged() ?? true;
      },
      contours: () => stage?.contours.pieces() ?? new Float32Array(0),
      trace: model.trace.entries,
      positions: () => stage?.positions ?? new Float32Array(0),
      pointAt: (row: number) => stage?.pointAt(row) ?? null,
      question: () => asked(model),
    },
  });
}

/** The token is not, or no longer, the right one. */
function isRefusal(problem: unknown): boolean {
  return problem instanceof ServerError && problem.status === 403;
}

function refuse(problem: unknown): void {
  const message = isRefusal(problem)
    ? "This address lacks the right token. Open the address that nearkin studio printed when it started."
    : problem instanceof Error
      ? problem.message
      : String(problem);
  byId("studio").replaceWith(
    h("main", {}, h("p", { class: "whole-page", role: "alert", text: message, testid: "refused" })),
  );
}

note("drawing", 0);
underWay(start()).catch(refuse);
