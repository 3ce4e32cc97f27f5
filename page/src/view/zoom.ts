/** Pictures as large as the window, and larger: one or two, moved and enlarged together. */

import type { DataRecord } from "../logic/types";
import { type PictureCache, SIDES } from "../picture_cache";
import { closeButton, h, replace } from "./dom";

const STEP = 1.5;
const MOST = 12;

let dialog: HTMLDialogElement | null = null;

export function lookCloser(records: DataRecord[], pictures: PictureCache): void {
  if (dialog === null) {
    dialog = h("dialog", { class: "closer", "aria-label": "Pictures", testid: "closer" });
    document.body.append(dialog);
  }
  const box = dialog;
  let times = 1;
  const panes = records.filter(({ image }) => image).map((record) => pane(record, pictures));

  const zoom = (factor: number): void => {
    const before = times;
    times = Math.min(MOST, Math.max(1, factor === 0 ? 1 : times * factor));
    said.textContent = `${Math.round(100 * times)}\u00a0%`;
    for (const { element, image } of panes) {
      // What is in the middle stays there.
      const x = (element.scrollLeft + element.clientWidth / 2) * (times / before);
      const y = (element.scrollTop + element.clientHeight / 2) * (times / before);
      image.style.width = image.style.height = `${100 * times}%`;
      element.scrollTo(x - element.clientWidth / 2, y - element.clientHeight / 2);
    }
  };

  const follow = (event: Event): void => {
    const { scrollLeft, scrollTop } = event.target as HTMLElement;
    for (const { element } of panes) element.scrollTo(scrollLeft, scrollTop);
  };
  for (const { element } of panes) {
    element.addEventListener("scroll", follow);
    element.addEventListener("wheel", (event) => {
      zoom(event.deltaY < 0 ? STEP : 1 / STEP);
      event.preventDefault();
    });
    drag(element);
  }

  const said = h("output", { class: "count", text: "100\u00a0%", testid: "closer-times" });
  const button = (text: string, label: string, press: () => void): HTMLElement =>
    h("button", { type: "button", text, "aria-label": label, on: { click: press } });
  replace(
    box,
    h(
      "div",
      { class: "card-head" },
      h(
        "div",
        { class: "row-actions" },
        button("−", "Smaller", () => zoom(1 / STEP)),
        button("+", "Larger", () => zoom(STEP)),
        button("Fit", "Fit into the window", () => zoom(0)),
        said,
      ),
      closeButton("Close pictures", "closer-close", () => box.close()),
    ),
    h("div", { class: "closer-panes" }, ...panes.map(({ whole }) => whole)),
  );
  box.onkeydown = (event) => {
    const factor = { "+": STEP, "=": STEP, "-": 1 / STEP, "0": 0 }[event.key];
    if (factor !== undefined) zoom(factor);
  };
  box.onclick = (event) => {
    if (event.target === box) box.close();
  };
  box.showModal();
}

interface Pane {
  whole: HTMLElement;
  element: HTMLElement;
  image: HTMLImageElement;
}

function pane(record: DataRecord, pictures: PictureCache): Pane {
  const image = h("img", { alt: `Picture of ${record.id}`, draggable: "false" });
  const element = h(
    "div",
    { class: "closer-pane", tabindex: "0", role: "group", "aria-label": `Picture of ${record.id}` },
    image,
  );
  const whole = h(
    "figure",
    {},
    element,
    h("figcaption", { text: String(record.id), dir: "auto", class: "hint" }),
  );
  image.addEventListener("load", () => {
    image.classList.toggle("squares", image.naturalWidth <= SIDES[0]);
  });
  pictures.get(record.row, SIDES[SIDES.length - 1]).then(
    (address) => {
      image.src = address;
    },
    (problem: Error) => replace(element, h("p", { class: "missing", text: problem.message })),
  );
  return { whole, element, image };
}

/** Move what is too large to be seen whole. */
function drag(element: HTMLElement): void {
  element.addEventListener("pointermove", (event) => {
    if (event.buttons === 1) element.scrollBy(-event.movementX, -event.movementY);
  });
}
