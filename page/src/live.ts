/**
 * The open line to the server: opens it anew when it breaks, waiting longer each time. Where no WebSocket comes through,
 * as behind some proxies, the server is asked again and again.
 */

import { decodeLive, type LiveMessage } from "./logic/messages";

const FIRST_WAIT_MS = 300;
const LONGEST_WAIT_MS = 8000;
/** Some programs between page and server close lines that are silent. */
const PING_MS = 25_000;
/** Lines that could not be opened at all until it is done without. */
const MOST_IN_VAIN = 2;

export type Connection = "connecting" | "open" | "lost" | "refused";

/** The next message and its number, or null if there was none for a while. */
export type Asked = { number: number; data: ArrayBuffer | string } | null;

interface Listeners {
  onMessage: (message: LiveMessage) => void;
  onConnection: (connection: Connection) => void;
  /** Whether the server still knows this page; asked before each attempt. */
  isWelcome: () => Promise<boolean>;
}

interface Line {
  openLive: () => WebSocket;
  /** Ask for what comes after a message. */
  nextLive: (after: number) => Promise<Asked>;
}

export function waitBefore(attempt: number): number {
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt);
}

export function openLive(line: Line, listeners: Listeners): void {
  const { onMessage, onConnection, isWelcome } = listeners;
  let attempt = 0;
  let wasOpen = false;

  const hear = (data: unknown): void => {
    const message = decodeLive(data);
    if (message !== null) onMessage(message);
  };

  const open = (): void => {
    const socket = line.openLive();
    socket.binaryType = "arraybuffer";
    let ping = 0;
    socket.onopen = () => {
      attempt = 0;
      wasOpen = true;
      ping = window.setInterval(() => socket.send("ping"), PING_MS);
      onConnection("open");
    };
    socket.onmessage = (event) => hear(event.data);
    socket.onclose = () => {
      window.clearInterval(ping);
      onConnection("lost");
      window.setTimeout(openIfWelcome, waitBefore(attempt++));
    };
  };

  const openIfWelcome = async (): Promise<void> => {
    if (!(await isWelcome())) onConnection("refused");
    else if (wasOpen || attempt < MOST_IN_VAIN) open();
    else await askAgainAndAgain(line, hear, listeners);
  };

  onConnection("connecting");
  open();
}

async function askAgainAndAgain(
  { nextLive }: Line,
  hear: (data: unknown) => void,
  { onConnection, isWelcome }: Listeners,
): Promise<void> {
  let after = 0;
  let failures = 0;
  let isOpen = false;
  for (;;) {
    try {
      const asked = await nextLive(after);
      if (!isOpen) onConnection("open");
      isOpen = true;
      failures = 0;
      if (asked !== null) {
        after = asked.number;
        hear(asked.data);
      }
    } catch {
      if (isOpen) onConnection("lost");
      isOpen = false;
      await new Promise((resolve) => window.setTimeout(resolve, waitBefore(failures++)));
      if (!(await isWelcome())) {
        onConnection("refused");
        return;
      }
    }
  }
}
