/** Which presses of a key mean something. */

/** What a key press says, without the state of any page. */
export interface KeyPress {
  key: string;
  /** The key's place, named by what it says on an American keyboard. */
  code?: string;
  shiftKey: boolean;
  ctrlKey: boolean;
  altKey: boolean;
  metaKey: boolean;
  repeat: boolean;
}

const NAMES = new Set([
  "s",
  "d",
  "u",
  "z",
  "w",
  "r",
  "n",
  "g",
  "f",
  "m",
  "q",
  "t",
  "i",
  "h",
  "c",
  "y",
]);

const LAST_LATIN = "\u024f";

/** The letter of a key; where others than Latin ones are typed, that of its place. */
function letterOf({ key, code = "" }: KeyPress): string {
  return (key.length === 1 && key > LAST_LATIN ? code.replace(/^Key/, "") : key).toLowerCase();
}

/** The digit of a key, by its place where that types a sign without Shift. */
function digitOf({ key, code = "", shiftKey }: KeyPress): string | null {
  if (/^[0-9]$/.test(key)) return key;
  const place = /^Digit([0-9])$/.exec(code)?.[1];
  return place === undefined || shiftKey ? null : place;
}

/** The name of the key binding that a press means, or null. Capitals by Caps Lock count as the letter. */
export function bindingOf(press: KeyPress): string | null {
  if (press.ctrlKey || press.altKey || press.metaKey) return null;
  if (press.key === "Escape" || press.key === "?" || press.key === "/") return press.key;
  const digit = digitOf(press);
  if (digit !== null) return press.repeat ? null : digit;
  const letter = letterOf(press);
  if (!NAMES.has(letter) || press.repeat) return null;
  if (press.shiftKey) return letter === "z" ? "shift+z" : null;
  return letter;
}
