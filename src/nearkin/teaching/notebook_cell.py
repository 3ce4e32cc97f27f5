"""What a notebook shows of a studio: its page in a frame, or what to do if that does not come."""

from __future__ import annotations

import html
import secrets

# Milliseconds until a page that has not come is said not to come. It can still come later.
PATIENCE_MS = 6000
# What the page tells the cell that shows it, see page/src/framed.ts.
GREETING = "nearkin studio is here"

_SCRIPT = """
<script>
(() => {
  const cell = document.getElementById("NAME");
  if (!cell) return;
  const frame = cell.querySelector("iframe");
  const help = cell.querySelector("details");
  const show = (isHere) => { frame.hidden = !isHere; help.open = !isHere; help.hidden = isHere; };
  const timer = setTimeout(() => show(false), PATIENCE);
  addEventListener("message", (event) => {
    if (event.source !== frame.contentWindow || event.data !== "GREETING") return;
    clearTimeout(timer);
    show(true);
  });
})();
</script>
"""


def cell_of(
    url: str, remedy: str, *, height: int = 720, note: str = "", patience_ms: int = PATIENCE_MS
) -> str:
    """The HTML of a cell.

    Parameters
    ----------
    url : str
        Of the page, for the browser.
    remedy : str
        What to do if it is not there. Where scripts run, it is shown only if the page does not come
        soon, and in its place; where they do not, it can be unfolded.
    height : int
        Pixels.
    note : str
        Shown beside the link.
    patience_ms : int
        Until the page is said not to come.
    """
    name = f"nearkin-{secrets.token_hex(6)}"
    address = html.escape(url, quote=True)
    said = f" {html.escape(note)}" if note else ""
    script = (
        _SCRIPT.replace("NAME", name)
        .replace("PATIENCE", str(patience_ms))
        .replace("GREETING", GREETING)
    )
    return (
        f'<div id="{name}">'
        f'<p><a href="{address}" target="_blank" rel="noopener">nearkin studio in a tab of its own'
        f"</a>{said}</p>"
        f"<details><summary>No page here? The browser does not reach the studio.</summary>"
        f"<p>{html.escape(remedy)}</p></details>"
        f'<iframe src="{address}" title="nearkin studio" width="100%" height="{height}" '
        'style="border: 0" allow="clipboard-write"></iframe>'
        f"</div>{script}"
    )


def plain_cell(*sentences: str) -> str:
    """The HTML of a cell that has only text."""
    return "".join(f"<p>{html.escape(sentence)}</p>" for sentence in sentences)
