/** Lines between points that are linked, and between those of the question. */

import { lineLook, thinnedLinks } from "../logic/links";
import type { ScreenMap } from "../logic/screen";
import { asked, type Model } from "../model";
import { cssColour } from "../theme";
import { Lines } from "./lines";
import type { Plot } from "./plot";

const NO_LINKS = new Uint32Array(0);
/** So many points leave no room to see lines between them: lines are then drawn above. */
const DENSE = 5000;

export function drawLinks(model: Model, plot: Plot, positions: Float32Array): void {
  const lines = new Lines(plot.regl);
  let must: Uint32Array = NO_LINKS;
  let cannot: Uint32Array = NO_LINKS;
  model.known.show((known) => {
    must = thinnedLinks(known?.must_link ?? []);
    cannot = thinnedLinks(known?.cannot_link ?? []);
    plot.redrawSoon();
  });
  model.showLinks.listen(plot.redraw);
  const draw = model.lesson.n_rows > DENSE ? plot.drawOver : plot.drawUnder;
  draw((map: ScreenMap) => {
    if (!model.showLinks.value) return;
    const look = lineLook((must.length + cannot.length) / 2);
    lines.stroke(cannot, positions, map, {
      colour: cssColour("cannot-link"),
      dash: [6, 4],
      ...look,
    });
    lines.stroke(must, positions, map, { colour: cssColour("must-link"), ...look });
  });
}

/** A dotted line between the two points of the question. */
export function drawQuestion(model: Model, plot: Plot, positions: Float32Array): void {
  const lines = new Lines(plot.regl);
  model.state.listen(plot.redrawSoon);
  model.askedAgain.listen(plot.redraw);
  model.panel.listen(plot.redraw);
  model.reviewing.listen(plot.redraw);
  model.theme.listen(plot.redraw);
  plot.drawOver((map) => {
    const question = asked(model);
    if (question === null) return;
    lines.stroke(Uint32Array.of(question.left, question.right), positions, map, {
      colour: cssColour("accent"),
      dash: [3, 4],
      width: 1.8,
      opacity: 1,
    });
  });
}
