/** The open line to the server: opens it anew when it breaks, waiting longer each time. */

import { decodeLive, type LiveMessage } from "./logic/messages";

const FIRST_WAIT_MS = 300;
const LONGEST_WAIT_MS = 8000;
/** Some programs between page and server close lines that are silent. */
const PING_MS = 25_000;

export type Connection = "connecting" | "open" | "lost" | "refused";

interface Listeners {
  onMessage: (message: LiveMessage) => void;
  onConnection: (connection: Connection) => void;
  /** What to say to the server whenever the line is open. */
  greeting: () => string;
  /** Whether the server still knows this page; asked before each attempt. */
  isWelcome: () => Promise<boolean>;
}

export function waitBefore(attempt: number): number {
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt);
}

/** Gives a function that says something to the server, if the line is open. */
export function openLive(
  connect: () => WebSocket,
  listeners: Listeners,
): (something: string) => void {
  const { onMessage, onConnection, greeting, isWelcome } = listeners;
  let line: WebSocket | null = null;
  let attempt = 0;

  const open = (): void => {
    const socket = connect();
    socket.binaryType = "arraybuffer";
    let ping = 0;
    socket.onopen = () => {
      attempt = 0;
      line = socket;
      socket.send(greeting());
      ping = window.setInterval(() => socket.send("ping"), PING_MS);
      onConnection("open");
    };
    socket.onmessage = (event) => {
      const message = decodeLive(event.data);
      if (message !== null) onMessage(message);
    };
    socket.onclose = () => {
      window.clearInterval(ping);
      line = null;
      onConnection("lost");
      window.setTimeout(openIfWelcome, waitBefore(attempt++));
    };
  };

  const openIfWelcome = async (): Promise<void> => {
    if (await isWelcome()) open();
    else onConnection("refused");
  };

  onConnection("connecting");
  open();
  return (something) => line?.send(something);
}
