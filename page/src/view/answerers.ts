/** Who has answered and how often wrong, and the name under which one answers here. */

import { change } from "../actions";
import { api } from "../api";
import { giveKeysBack } from "../keys";
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
    { class: "panel-body" },
    h("h3", { text: "Answerers" }),
    h("label", { class: "my-name" }, "Your answers are given by", name),
    list,
    said,
    overlapChoice(model),
  );
}

const SHARES = [0, 0.1, 0.2, 0.5, 1];

/** How many of the questions two people are asked. */
function overlapChoice(model: Model): HTMLElement {
  const select = h("select", { id: "overlap", testid: "overlap" });
  select.addEventListener("change", () => {
    const share = Number(select.value);
    const said = share === 0 ? "Each question is asked of one person." : SECOND(share);
    void change(
      model,
      () => api.overlap(share),
      () => said,
    );
  });
  giveKeysBack(select);
  model.state.show(({ overlap }) => {
    const shares = SHARES.includes(overlap) ? SHARES : [...SHARES, overlap].sort((a, b) => a - b);
    replace(
      select,
      ...shares.map((share) => h("option", { value: String(share), text: percent(share) })),
    );
    select.value = String(overlap);
  });
  const box = h(
    "label",
    { class: "my-name", for: "overlap" },
    "Questions that two people are asked",
    select,
  );
  model.people.show((people) => {
    box.hidden = people.length < 2;
  });
  return box;
}

const SECOND = (share: number): string =>
  `${percent(share)} of the questions are asked of two people.`;
