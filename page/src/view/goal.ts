/** What questions are for: a better distance, or groups. */

import { aim } from "../grouping";
import { giveKeysBack } from "../keys";
import type { Goal } from "../logic/types";
import type { Model } from "../model";
import { h } from "./dom";

const LABELS: Record<Goal, string> = {
  distance: "improve the distance",
  clusters: "find the groups",
};

/** A choice, if there is one. */
export function goalChoice(model: Model): HTMLElement | null {
  const { goals } = model.lesson;
  if (goals.length < 2) return null;
  const select = h(
    "select",
    { id: "goal", testid: "goal", title: "What questions are for" },
    ...goals.map((goal) => h("option", { value: goal, text: LABELS[goal] })),
  );
  select.addEventListener("change", () => void aim(model, select.value as Goal));
  giveKeysBack(select);
  model.state.show(({ goal }) => {
    select.value = goal;
  });
  const label = h("label", { for: "goal", class: "unseen", text: "Ask to" });
  return h("div", { class: "goal" }, label, select);
}
