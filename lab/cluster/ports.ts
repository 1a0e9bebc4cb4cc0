import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/**
 * Below Linux' ephemeral range (32768 and up), so that no outgoing connection takes the port while a server restarts.
 */
const LOWEST = 18_000;
const HIGHEST = 32_000;

/**
 * A port of 127.0.0.1 without a listener now. Another process may take it before you do: then start again with another.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(LOWEST, HIGHEST);
    if (await canListen(port)) return port;
  }
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
