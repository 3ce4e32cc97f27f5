/** Who has answered and how often wrong, and the name under which one answers here. */

import type { Answerer } from "../logic/types";
import { counted, percent } from "../logic/words";
import type { Model } from "../model";
import { callMe, LONGEST_NAME, myName } from "../who";
import { h, replace } from "./dom";

/** "12 answers, 8% wrong (2% to 20%)". */
export function reliability({ n_answers, wrong, low, high }: Answerer): string {
  return `${counted(n_answers, "answer")}, ${percent(wrong)} wrong (${percent(low)} to ${percent(high)})`;
}

export function answerersSection(model: Model): HTMLElement {
  const name = h("input", {
    type: "text",
    maxlength: LONGEST_NAME,
    placeholder: model.lesson.by ?? "nobody",
    autocomplete: "off",
    testid: "my-name",
    on: {
      change: () => callMe(name.value),
      keydown: (event) => {
        if (event.key !== "Enter" && event.key !== "Escape") return;
        name.blur();
        event.stopPropagation();
      },
    },
  });
  name.value = myName() ?? "";
  const list = h("ul", { class: "answerers", testid: "answerers" });
  const said = h("p", { class: "hint", dir: "auto" });
  model.report.show((report) => {
    replace(
      list,
      ...(report?.answerers.listed ?? []).map((one) =>
        h(
          "li",
          { testid: "answerer" },
          h("strong", { text: one.name, dir: "auto" }),
          h("span", { text: reliability(one) }),
        ),
      ),
    );
    said.textContent = report?.answerers.said ?? "";
  });
  return h(
    "section",
    { class: "section" },
    h("h3", { text: "Answerers" }),
    h("label", { class: "my-name" }, "Your answers are given by", name),
    list,
    said,
  );
}
