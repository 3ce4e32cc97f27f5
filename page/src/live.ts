/**
 * The open line to the server: opens it anew when it breaks or is silent, waiting longer each time. Where no WebSocket
 * comes through, as behind some proxies, the server is asked again and again.
 */

import { decodeLive, type LiveMessage } from "./logic/messages";

const FIRST_WAIT_MS = 300;
const LONGEST_WAIT_MS = 8000;
/** Some programs between page and server close lines that are silent. */
const PING_MS = 25_000;
/** A line that says nothing for so long after a ping is dead, whether or not it is closed. */
const PATIENCE_MS = 10_000;
/** If a second takes so much longer, the machine was asleep. */
const ASLEEP_MS = 15_000;
/** Lines that could not be opened at all until it is done without. */
const MOST_IN_VAIN = 2;

export type Connection = "connecting" | "open" | "lost" | "refused";

/** The next message and its number, or null if there was none for a while. */
export type Asked = { number: number; data: ArrayBuffer | string } | null;

interface Line {
  openLive: () => WebSocket;
  /** Ask for what comes after a message, and say who asks. */
  nextLive: (after: number, hello: string) => Promise<Asked>;
}

interface Listeners {
  onMessage: (message: LiveMessage) => void;
  onConnection: (connection: Connection) => void;
  /** Whether the server still knows this page; asked before each attempt. */
  isWelcome: () => Promise<boolean>;
  /** What the page says of itself when the line is open. */
  hello: () => string;
}

export interface Live {
  /** Say who this is, again. */
  greet(): void;
  /** Say something, if the line is open. */
  say(something: string): void;
}

export function waitBefore(attempt: number): number {
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt);
}

export function openLive(line: Line, listeners: Listeners): Live {
  const { onMessage, onConnection, isWelcome, hello } = listeners;
  let attempt = 0;
  let wasOpen = false;
  let now: { say: (text: string) => void; check: () => void } | null = null;

  const open = (): void => {
    const socket = line.openLive();
    socket.binaryType = "arraybuffer";
    let ping = 0;
    let doubt = 0;
    const lose = (): void => {
      window.clearInterval(ping);
      window.clearTimeout(doubt);
      socket.onclose = socket.onmessage = socket.onopen = null;
      socket.close();
      now = null;
      onConnection("lost");
      window.setTimeout(openIfWelcome, waitBefore(attempt++));
    };
    const say = (text: string): void => {
      if (socket.readyState === WebSocket.OPEN) socket.send(text);
    };
    const check = (): void => {
      say("ping");
      window.clearTimeout(doubt);
      doubt = window.setTimeout(lose, PATIENCE_MS);
    };
    now = { say, check };
    socket.onopen = () => {
      attempt = 0;
      wasOpen = true;
      say(hello());
      ping = window.setInterval(check, PING_MS);
      onConnection("open");
    };
    socket.onmessage = (event) => {
      window.clearTimeout(doubt);
      const message = decodeLive(event.data);
      if (message !== null) onMessage(message);
    };
    socket.onclose = lose;
  };

  const openIfWelcome = async (): Promise<void> => {
    if (!(await isWelcome())) onConnection("refused");
    else if (wasOpen || attempt < MOST_IN_VAIN) open();
    else await askAgainAndAgain(line, listeners);
  };

  onWaking(() => now?.check());
  onConnection("connecting");
  open();
  return { greet: () => now?.say(hello()), say: (something) => now?.say(something) };
}

async function askAgainAndAgain({ nextLive }: Line, listeners: Listeners): Promise<void> {
  const { onMessage, onConnection, isWelcome, hello } = listeners;
  let after = 0;
  let failures = 0;
  let isOpen = false;
  for (;;) {
    try {
      const asked = await nextLive(after, hello());
      if (!isOpen) onConnection("open");
      isOpen = true;
      failures = 0;
      const message = asked === null ? null : decodeLive(asked.data);
      after = asked?.number ?? after;
      if (message !== null) onMessage(message);
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

/** After sleep a line may be dead without anybody having said so. */
function onWaking(wake: () => void): void {
  let last = Date.now();
  window.setInterval(() => {
    const now = Date.now();
    if (now - last > ASLEEP_MS) wake();
    last = now;
  }, 1000);
  window.addEventListener("online", wake);
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") wake();
  });
}
