/** Records as people read them: fields as text, a picture where there is one. */

import { api } from "../api";
import type { DataRecord, Field } from "../logic/types";
import { PictureCache } from "../picture_cache";
import { h } from "./dom";

const SAID_FIELDS = 3;
const SAID_CHARACTERS = 80;

export const pictures = new PictureCache(api.image);

export function recordName(record: DataRecord): string {
  return String(record.id);
}

/** A short sentence for screen readers. */
export function recordSentence(record: DataRecord): string {
  const fields = record.fields
    .slice(0, SAID_FIELDS)
    .map(({ name, value }) => `${name} ${value.slice(0, SAID_CHARACTERS)}`);
  return [`Record ${recordName(record)}`, ...fields].join(", ");
}

/** The picture of a record; it takes itself away if there is none to be had. */
export function thumbnail(record: DataRecord): HTMLImageElement | null {
  if (!record.image) return null;
  const image = h("img", {
    class: "thumbnail",
    alt: `Picture of ${recordName(record)}`,
    decoding: "async",
    draggable: "false",
  });
  const giveUp = (): void => image.replaceWith(h("span", { class: "missing", text: "no picture" }));
  image.addEventListener("error", giveUp);
  pictures.get(record.row).then((address) => {
    image.src = address;
  }, giveUp);
  return image;
}

/** A value; beside another record's, with what differs marked. */
export function fieldValue({ value, cut, parts }: Field): HTMLElement {
  if (value === "") return h("span", { class: "value empty", text: "empty" });
  const shown = (parts ?? [[value, false]]).map(([text, differs]) =>
    differs ? h("mark", { text }) : text,
  );
  return h("span", { class: "value", dir: "auto" }, ...shown, cut && " …");
}

/** Name and value of each field. */
export function fieldList(record: DataRecord, most = Number.POSITIVE_INFINITY): HTMLElement {
  const list = h("dl", { class: "fields" });
  for (const field of record.fields.slice(0, most)) {
    const { name } = field;
    list.append(h("dt", { text: name, dir: "auto", title: name }), h("dd", {}, fieldValue(field)));
  }
  return list;
}
