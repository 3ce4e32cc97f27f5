/** Who else is here, and under which name one answers: asked for once, when somebody else joins. */

import { answersAs } from "../answer_list";
import type { Person } from "../logic/types";
import { counted } from "../logic/words";
import type { Model } from "../model";
import { announce } from "../notices";
import { remember, remembered } from "../storage";
import { callMe, LONGEST_NAME, myBrowser, myName } from "../who";
import { byId, h, replace } from "./dom";

const ASKED = "name-asked";

/** "2 people: Ann, you". */
export function peopleInWords(people: Person[], browser: string): string {
  const names = people.map((one) => (one.browser === browser ? "you" : (one.name ?? "no name")));
  const sorted = [...names.filter((name) => name !== "you"), "you"];
  return `${counted(people.length, "person", "people")}: ${sorted.join(", ")}`;
}

export function showPeople(model: Model): void {
  const line = byId("people");
  const box = byId("ask-name");
  model.people.show((people) => {
    const several = people.length > 1;
    line.hidden = !several;
    line.textContent = several ? peopleInWords(people, myBrowser()) : "";
    const ask = several && myName() === undefined && remembered(ASKED) === null;
    if (ask && box.hidden) askName(model, box);
    if (!ask) box.hidden = true;
  });
}

function askName(model: Model, box: HTMLElement): void {
  const name = h("input", {
    type: "text",
    id: "asked-name",
    maxlength: String(LONGEST_NAME),
    placeholder: answersAs(model) ?? "your name",
    autocomplete: "off",
    testid: "asked-name",
  });
  const close = (): void => {
    remember(ASKED, "yes");
    box.hidden = true;
    byId("question").focus({ preventScroll: true });
  };
  const keep = (): void => {
    if (name.value.trim() !== "") callMe(name.value);
    close();
  };
  name.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    close();
    event.stopPropagation();
  });
  replace(
    box,
    h(
      "form",
      {
        on: {
          submit: (event) => {
            event.preventDefault();
            keep();
          },
        },
      },
      h("label", { for: "asked-name", text: "Somebody else answers too. Your name?" }),
      name,
      h("button", { type: "submit", class: "small", text: "Keep", testid: "keep-name" }),
      h("button", {
        type: "button",
        class: "small quiet",
        text: "Without",
        testid: "no-name",
        title: "Answers without a name cannot be told apart",
        on: { click: close },
      }),
    ),
  );
  box.hidden = false;
  announce("Somebody else answers too. You may give your name above the question.");
}
