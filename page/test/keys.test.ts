import { describe, expect, it } from "vitest";
import { bindingOf, type KeyPress } from "../src/logic/bindings";

function press(key: string, part: Partial<KeyPress> = {}): KeyPress {
  return {
    key,
    shiftKey: false,
    ctrlKey: false,
    altKey: false,
    metaKey: false,
    repeat: false,
    ...part,
  };
}

describe("bindingOf", () => {
  it("knows the letters, also with Caps Lock", () => {
    for (const letter of "sduzwn") expect(bindingOf(press(letter))).toBe(letter);
    expect(bindingOf(press("S"))).toBe("s");
  });

  it("goes by the place of a key where other letters are typed", () => {
    expect(bindingOf(press("ы", { code: "KeyS" }))).toBe("s");
    expect(bindingOf(press("Я", { code: "KeyZ", shiftKey: true }))).toBe("shift+z");
    expect(bindingOf(press(",", { code: "KeyM" }))).toBeNull();
    expect(bindingOf(press("q", { code: "KeyA" }))).toBe("q");
  });

  it("tells undo and redo apart", () => {
    expect(bindingOf(press("z"))).toBe("z");
    expect(bindingOf(press("Z", { shiftKey: true }))).toBe("shift+z");
  });

  it("leaves keys of the browser alone", () => {
    expect(bindingOf(press("s", { ctrlKey: true }))).toBeNull();
    expect(bindingOf(press("d", { metaKey: true }))).toBeNull();
    expect(bindingOf(press("u", { altKey: true }))).toBeNull();
    expect(bindingOf(press("S", { shiftKey: true }))).toBeNull();
  });

  it("knows digits, also where a sign is typed without Shift", () => {
    expect(bindingOf(press("7", { code: "Numpad7" }))).toBe("7");
    expect(bindingOf(press("&", { code: "Digit1" }))).toBe("1");
    expect(bindingOf(press("1", { code: "Digit1", shiftKey: true }))).toBe("1");
    expect(bindingOf(press("!", { code: "Digit1", shiftKey: true }))).toBeNull();
    expect(bindingOf(press("3", { repeat: true }))).toBeNull();
    expect(bindingOf(press("3", { ctrlKey: true }))).toBeNull();
  });

  it("answers once, however long a key is held", () => {
    expect(bindingOf(press("s", { repeat: true }))).toBeNull();
  });

  it("knows help and Escape", () => {
    expect(bindingOf(press("?", { shiftKey: true }))).toBe("?");
    expect(bindingOf(press("Escape"))).toBe("Escape");
    expect(bindingOf(press("j"))).toBeNull();
  });
});
