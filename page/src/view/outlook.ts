/** What the next answers are expected to gain. */

import type { Outlook } from "../logic/types";
import { h } from "./dom";

export function outlookLines({ said }: Outlook): HTMLElement[] {
  const sentence = `${said[0].toUpperCase()}${said.slice(1)}`;
  return [
    h("h3", { text: "More answers?" }),
    h("p", { class: "hint", text: sentence, testid: "outlook-said" }),
  ];
}
