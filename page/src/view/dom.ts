/** Elements from code. Text goes in as text, never as HTML. */

type Child = Node | string | number | null | undefined | false;

interface Attributes {
  class?: string;
  text?: string;
  testid?: string;
  on?: { [Name in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[Name]) => void };
  [attribute: string]: unknown;
}

function assign(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "text") element.textContent = String(value);
    else if (name === "testid") element.setAttribute("data-testid", String(value));
    else if (name === "on") {
      for (const [event, listener] of Object.entries(value as Record<string, EventListener>)) {
        element.addEventListener(event, listener);
      }
    } else element.setAttribute(name, value === true ? "" : String(value));
  }
}

function append(element: Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  assign(element, attributes);
  append(element, children);
  return element;
}

export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[Tag] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  assign(element, attributes);
  append(element, children);
  return element;
}

/** The element of index.html with an id. */
export function byId<E extends HTMLElement = HTMLElement>(id: string): E {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`The page has no element "${id}".`);
  return element as E;
}

export function replace(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}

/** A dot of a colour, for legends. */
export function swatch(colour: string): HTMLElement {
  const dot = h("span", { class: "dot", "aria-hidden": "true" });
  dot.style.backgroundColor = colour;
  return dot;
}

/** A key as it is printed on a keyboard. */
export function key(label: string): HTMLElement {
  return h("kbd", { "aria-hidden": "true", text: label });
}

/** A cross that closes or removes something. */
export function closeButton(label: string, testid: string, press: () => void): HTMLElement {
  const attributes = { type: "button", class: "icon", text: "×", "aria-label": label, testid };
  return h("button", { ...attributes, on: { click: press } });
}
