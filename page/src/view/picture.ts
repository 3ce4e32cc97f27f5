/** The picture of a record: small in lists, larger where it is judged, and as close as people want to look. */

import { api } from "../api";
import type { DataRecord } from "../logic/types";
import { PictureCache, sideFor } from "../picture_cache";
import { h } from "./dom";
import { lookCloser } from "./zoom";

export const pictures = new PictureCache(api.image);

/** Pixels of a picture that is shown with its pixels as squares, since it has so few. */
const FEW_PIXELS = 64;

const SMALL_PX = 48;
/** As wide as a picture is at most in the card. */
export const CARD_PX = 400;

const name = (record: DataRecord): string => String(record.id);

/** A picture for a place of this width; it says so if there is none to be had. */
function imageOf(record: DataRecord, kind: string, width: number): HTMLImageElement {
  const image = h("img", {
    class: kind,
    alt: `Picture of ${name(record)}`,
    decoding: "async",
    draggable: "false",
  });
  const giveUp = (problem?: unknown): void => {
    const why = problem instanceof Error ? problem.message : "The picture cannot be shown.";
    const box = image.closest("button.picture") ?? image;
    box.replaceWith(
      h(
        "span",
        { class: "missing", title: why, testid: "no-picture" },
        kind === "picture-image" ? why : "no picture",
      ),
    );
  };
  image.addEventListener("error", () => giveUp());
  image.addEventListener("load", () => {
    image.classList.toggle("squares", image.naturalWidth <= FEW_PIXELS);
  });
  pictures.get(record.row, sideFor(width, window.devicePixelRatio)).then((address) => {
    image.src = address;
  }, giveUp);
  return image;
}

/** For lists. */
export function thumbnail(record: DataRecord): HTMLImageElement | null {
  return record.image ? imageOf(record, "thumbnail", SMALL_PX) : null;
}

/** For places where it is judged: pressed, it can be looked at more closely, beside others. */
export function largePicture(
  record: DataRecord,
  width: number,
  beside: DataRecord[] = [record],
): HTMLElement | null {
  if (!record.image) return null;
  return h(
    "button",
    {
      type: "button",
      class: "picture",
      testid: "picture",
      "aria-label": `Look closer at the picture of ${name(record)}`,
      "aria-haspopup": "dialog",
      on: { click: () => lookCloser(beside, pictures) },
    },
    imageOf(record, "picture-image", width),
  );
}

/** Fetch a picture before it is wanted. */
export function fetchPicture({ image, row }: DataRecord, width: number): void {
  if (image) pictures.get(row, sideFor(width, window.devicePixelRatio)).catch(() => undefined);
}
