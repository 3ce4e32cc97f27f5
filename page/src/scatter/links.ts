import { type Model, pairAsked } from "../model";
import { cssColour } from "../theme";
import { Lines } from "./lines";
import type { Plot } from "./plot";

/** A dotted line between the two points of the question, if it is about two. */
export function drawQuestion(model: Model, plot: Plot, positions: Float32Array): void {
  const lines = new Lines(plot.regl);
  model.state.listen(plot.redrawSoon);
  model.askedAgain.listen(plot.redraw);
  model.reviewing.listen(plot.redraw);
  model.theme.listen(plot.redraw);
  plot.drawOver((map) => {
    const question = pairAsked(model);
    if (question === null) return;
    lines.stroke(Uint32Array.of(question.left, question.right), positions, map, {
      colour: cssColour("accent"),
      dash: [3, 4],
      width: 1.8,
      opacity: 1,
    });
  });
}
