/** The record of the point under the mouse, beside it. */

import { groupName } from "../groups";
import type { Model } from "../model";
import type { Stage } from "../scatter/stage";
import { byId, h, replace } from "./dom";
import { thumbnail } from "./picture";
import { fieldList, recordName } from "./record";

/** A field of a card takes about this much of the map's height. */
const FIELD_PX = 80;
const MOST_FIELDS = 6;
const GAP = 16;

export function showHoverCard(model: Model, stage: Stage): void {
  const card = byId("hover-card");
  const frame = byId("frame");

  const place = (row: number): void => {
    const box = frame.getBoundingClientRect();
    const at = stage.pointAt(row);
    const x = at.x - box.left;
    const y = at.y - box.top;
    const { offsetWidth: width, offsetHeight: height } = card;
    const right = x + GAP + width <= box.width;
    card.style.left = `${Math.max(4, right ? x + GAP : x - GAP - width)}px`;
    card.style.top = `${Math.max(4, Math.min(box.height - height - 4, y - height / 2))}px`;
  };

  model.hovered.listen((row) => {
    if (row === null) {
      card.hidden = true;
      return;
    }
    void model.records.get(row).then(
      (record) => {
        if (model.hovered.value !== row) return;
        const group = groupName(model, row);
        replace(
          card,
          h(
            "div",
            { class: "hover-head" },
            thumbnail(record),
            h("strong", { text: recordName(record), dir: "auto" }),
            group !== null && h("span", { class: "hint", text: group, dir: "auto" }),
          ),
          fieldList(
            null,
            record,
            Math.min(MOST_FIELDS, Math.ceil(frame.clientHeight / FIELD_PX) - 2),
          ),
        );
        card.hidden = false;
        place(row);
      },
      () => {
        card.hidden = true;
      },
    );
  });
}
