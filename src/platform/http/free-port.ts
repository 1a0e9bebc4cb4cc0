import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Listens for a moment, so that the command reports a port in use before it changes anything.
 * @param port 0: any free port, so nothing is checked
 * @throws the listener's own error
 */
export async function requireFreePort(host: string, port: number): Promise<void> {
  if (port === 0) return;
  const probe = createServer();
  probe.listen({ host, port });
  await once(probe, "listening");
  probe.close();
  await once(probe, "close");
}
