/** Files that are asked for with the token, which no link has, and then given to the browser. */

/** The browser reads a file while it saves it. */
const KEPT_MS = 60_000;

export function keepFile(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}
