/** Which presses of a key mean something. */

/** What a key press says, without the state of any page. */
export interface KeyPress {
  key: string;
  shiftKey: boolean;
  ctrlKey: boolean;
  altKey: boolean;
  metaKey: boolean;
  repeat: boolean;
}

const NAMES = new Set(["s", "d", "u", "z", "w", "n", "a", "b", "g", "l", "f", "m", "q"]);

/** The name of the key binding that a press means, or null. Capitals by Caps Lock count as the letter. */
export function bindingOf(press: KeyPress): string | null {
  if (press.ctrlKey || press.altKey || press.metaKey) return null;
  if (press.key === "Escape" || press.key === "?") return press.key;
  const letter = press.key.toLowerCase();
  if (!NAMES.has(letter) || press.repeat) return null;
  if (press.shiftKey) return letter === "z" ? "shift+z" : null;
  return letter;
}
