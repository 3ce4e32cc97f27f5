/** What is asked: chosen once, at the start, in words that can be changed at any time. */

import { ask } from "../actions";
import { type Model, purposeOf, WORDS, wordsOf } from "../model";
import { showAll } from "../signal";
import { h } from "./dom";

/** As many characters as the server takes. */
const LONGEST = "60";

const CHOICES: { purpose: "kinds" | "things"; title: string; about: string }[] = [
  {
    purpose: "kinds",
    title: "Which of these are the same kind of thing?",
    about: "Topics, species, styles: a distance is learned, and groups of what is alike.",
  },
  {
    purpose: "things",
    title: "Which are the same thing twice?",
    about: "One person, place or article that is listed more than once: duplicates are found.",
  },
];

/** In the place of the first question, where both could be meant. */
export function chooserOf(model: Model): HTMLElement {
  return h(
    "div",
    { class: "chooser", hidden: true, testid: "chooser" },
    h("p", { text: "What do you want to find out?" }),
    ...CHOICES.map(({ purpose, title, about }) =>
      h(
        "button",
        {
          type: "button",
          testid: `ask-${purpose}`,
          on: { click: () => void ask(model, { purpose, words: WORDS[purpose] }) },
        },
        h("strong", { text: title }),
        h("span", { class: "hint", text: about }),
      ),
    ),
  );
}

/** The question above the card, which can be put in other words: "Same topic?" */
export function wordsField(model: Model): HTMLInputElement {
  const field = h("input", {
    type: "text",
    class: "words",
    maxlength: LONGEST,
    "aria-label": "What is asked, in your words",
    title: "Put the question in your own words, such as “Same topic?”",
    autocomplete: "off",
    dir: "auto",
    testid: "words",
  });
  const save = (): void => {
    const words = field.value.trim();
    const purpose = purposeOf(model);
    if (words === "" || purpose === null) field.value = wordsOf(model);
    else if (words !== wordsOf(model)) void ask(model, { purpose, words });
  };
  field.addEventListener("change", save);
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    if (event.key === "Escape") field.value = wordsOf(model);
    field.blur();
    event.preventDefault();
    event.stopPropagation();
  });
  showAll([model.state], () => {
    if (document.activeElement !== field) field.value = wordsOf(model);
  });
  return field;
}
