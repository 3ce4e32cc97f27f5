/** Puts the page together. */

import { acceptState, acceptToldState, lookAtReview } from "./actions";
import { api, ServerError } from "./api";
import { coalesced } from "./coalesce";
import { keepColouring } from "./colour_by";
import { keepMatches } from "./finding";
import { greetCell } from "./framed";
import { acceptGrouping, keepGrouping } from "./grouping";
import { listenToKeys } from "./keys";
import { openLive } from "./live";
import type { LiveMessage } from "./logic/messages";
import type { Lesson } from "./logic/types";
import { counted } from "./logic/words";
import { asked, createModel, type Model } from "./model";
import { announce, notify, notifyProblem } from "./notices";
import { isWebGlThere } from "./scatter/plot";
import { listenToArrows, listenToMouse } from "./scatter/pointing";
import { createStage, type Stage } from "./scatter/stage";
import { enter, stay } from "./session";
import { afterPause, note, reloadPage, underWay } from "./settled";
import { showAll } from "./signal";
import { createTheme } from "./theme";
import { answersPanel } from "./view/answers";
import { showBlend } from "./view/blend";
import { prepareColumns } from "./view/columns";
import { byId, h, replace } from "./view/dom";
import { showFind } from "./view/find";
import { showGroups } from "./view/groups";
import { showHeader } from "./view/header";
import { IN_MEMORY, prepareHelp } from "./view/help";
import { showHoverCard } from "./view/hover_card";
import { showLegend } from "./view/legend";
import { showMapProgress } from "./view/map_choice";
import { setBadge, showPanels } from "./view/panels";
import { showPeople } from "./view/people";
import { pointPanel } from "./view/point";
import { qualityPanel } from "./view/quality";
import { showQuestion } from "./view/question";
import { reviewPanel } from "./view/review";
import { showSaving } from "./view/saving";
import { suspectsPanel } from "./view/suspects";
import { showToolbar } from "./view/toolbar";
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
  prepareColumns(model);
  showQuestion(model);
  showSaving(model);
  showWhy(model);
  showSide(model);
  showPeople(model);
  showNotes(model);
  keepMatches(model);
  showFind(model);

  keepKnown(model);
  listenLive(model);
  api.layout("euclidean").then((layout) => model.euclidean.set(layout), notifyProblem);

  const stage = await tryStage(model);
  showToolbar(model, stage?.plot ?? null);
  listenToKeys(model, stage);
  offerToTests(model, stage);
}

function showSide(model: Model): void {
  const { review } = model.lesson;
  showPanels(model, [
    ...(review ? [{ id: "review" as const, title: "Review", body: reviewPanel(model) }] : []),
    { id: "quality", title: "Quality", body: qualityPanel(model) },
    { id: "suspects", title: "Suspects", body: suspectsPanel(model) },
    { id: "answers", title: "Answers", body: answersPanel(model) },
    { id: "point", title: "Point", body: pointPanel(model) },
  ]);
  model.report.show((report) => {
    const n = (report?.suspects.length ?? 0) + (report?.contradictions.length ?? 0);
    setBadge("suspects", n === 0 ? "" : String(n));
  });
  model.selected.listen((row) => {
    if (row !== null) model.panel.set("point");
  });
}

/** Notes stay below the map as long as they hold. */
function showNotes(model: Model): void {
  showAll([model.report, model.review, model.grouping], () => {
    const { notes: own, journal } = model.lesson;
    const parts = [model.report.value, model.review.value, model.grouping.value];
    const notes = new Set([...own, ...parts.flatMap((part) => part?.notes ?? [])]);
    if (journal === null) notes.add(IN_MEMORY);
    const items = [...notes].map((text) =>
      h("li", { text, title: text, dir: "auto", testid: "note" }),
    );
    replace(byId("notes"), ...items);
  });
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
      case "grouping":
        acceptGrouping(model, message.grouping);
        break;
      case "problem":
        model.finding.set(null);
        notify(message.message, "problem");
        break;
      case "review":
        model.review.set(message.review);
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
    const [report, learned, known, grouping] = await Promise.all([
      api.report(),
      api.layout("learned"),
      api.known(),
      api.grouping(),
    ]);
    model.report.set(report);
    model.finding.set(null);
    model.grouping.set(grouping);
    model.learned.set(learned);
    model.known.set(known);
    if (model.review.value !== null || model.panel.value === "review") void lookAtReview(model);
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
  keepGrouping(model);
  keepColouring(model);
  showLegend(model);
  showGroups(model);
  showBlend(model);
  showMapProgress(model);
  showHoverCard(model, stage);
  listenToMouse(model, stage);
  listenToArrows(model, stage);
  summarise(model);
  return stage;
}

function withoutMap(): null {
  const message =
    "The map needs WebGL, which this browser does not have or has turned off. Questions, suspects, quality and " +
    "export work without it.";
  for (const id of ["stage", "legend", "toolbar", "blend"]) byId(id).hidden = true;
  byId("frame").prepend(
    h("p", { class: "no-map", role: "status", text: message, testid: "no-webgl" }),
  );
  return null;
}

/** What the map shows, in words. */
function summarise(model: Model): void {
  showAll([model.state, model.colouring, model.blend, model.showLinks], () => {
    const { n_rows } = model.lesson;
    const { n_must_link, n_cannot_link } = model.state.value;
    const lines = model.showLinks.value
      ? `Lines join ${counted(n_must_link, "pair")} said to be the same and ${counted(n_cannot_link, "pair")} said to be different.`
      : "A line joins the pair that is asked.";
    const layout = model.blend.value === 0 ? "Euclidean distance" : "learned metric";
    const colour = model.colouring.value ? ` Colours show ${model.colouring.value.name}.` : "";
    byId("map-summary").textContent =
      `${counted(n_rows, "point")}, near each other where records are alike by the ${layout}. ` +
      `${lines}${colour} ` +
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
