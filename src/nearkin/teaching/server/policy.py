"""Headers that protect the page, whatever is answered."""

from __future__ import annotations

from collections.abc import Collection

from nearkin.teaching.server.hosts import ANY_NAME

_POLICY = (
    "default-src 'self'",
    "script-src 'self' 'unsafe-eval'",  # regl makes its draw calls with Function
    "style-src 'self'",
    "img-src 'self' blob: data:",
    "connect-src 'self'",
    "worker-src 'self' blob:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
)
# Notebooks on this machine show the page in a frame.
_FRAMES = (
    "'self'",
    "http://localhost:*",
    "http://127.0.0.1:*",
    "https://localhost:*",
    "https://127.0.0.1:*",
    "vscode-webview:",
)


def protecting_headers(allowed: Collection[str] = ()) -> list[tuple[bytes, bytes]]:
    """Headers to add to every answer.

    Parameters
    ----------
    allowed : collection of str
        Names of hosts beside this machine whose pages may show ours in a frame.
    """
    more = [f"{s}://{name}:*" for name in allowed if name != ANY_NAME for s in ("http", "https")]
    ancestors = " ".join(dict.fromkeys([*_FRAMES, *more]))
    policy = "; ".join([*_POLICY, f"frame-ancestors {ancestors}"])
    return [
        (b"content-security-policy", policy.encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-resource-policy", b"same-origin"),
        (b"accept-ranges", b"none"),
    ]
