/** What the browser remembers between visits, where it lets us. */

export function remembered(name: string): string | null {
  try {
    return window.localStorage.getItem(`nearkin-${name}`);
  } catch {
    return null;
  }
}

export function remember(name: string, value: string): void {
  try {
    window.localStorage.setItem(`nearkin-${name}`, value);
  } catch {
    // Private windows and some notebooks refuse; nothing depends on it.
  }
}
