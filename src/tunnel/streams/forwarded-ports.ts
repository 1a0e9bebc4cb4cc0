import type { Clock } from "../../base/clock.ts";
import { SpdyReader } from "./spdy-reader.ts";
import { WebSocketReader } from "./websocket-reader.ts";

export interface ForwardedPorts {
  /** What goes up, before it goes. False: the connection must be cut, and the chunk not go up. */
  check(chunk: Buffer): boolean;
}

/**
 * Which ports of the pod a port-forward connects to: they stand in the SPDY streams that the client opens, plain or in a
 * WebSocket, not in the URL. What cannot be read is cut, also where any port is allowed: the audit names the ports.
 *
 * @param allowed undefined: any port.
 * @param onContent told of bytes for a port.
 * @param onPort told once for each port; `isAllowed` false: the connection is cut. Port 0: none that could be read.
 */
export function forwardedPorts(
  isWebSocket: boolean,
  allowed: readonly number[] | undefined,
  onPort: (port: number, isAllowed: boolean) => void,
  clock: Pick<Clock, "monotonicMs">,
  onContent: () => void = () => undefined,
): ForwardedPorts {
  const seen = new Set<number>();
  let isCut = false;
  const spdy = new SpdyReader(
    {
      onContent,
      onStream(headers) {
        onContent();
        const port = portOf(headers.get("port") ?? "");
        const isAllowed = port !== 0 && (allowed === undefined || allowed.includes(port));
        if (!isAllowed) isCut = true;
        if (seen.has(port)) return;
        seen.add(port);
        onPort(port, isAllowed);
      },
    },
    clock,
  );
  const reader = isWebSocket ? new WebSocketReader({ onData: (bytes) => spdy.push(bytes) }) : spdy;
  return {
    check(chunk) {
      if (isCut) return false;
      reader.push(chunk);
      if (reader.isBroken || spdy.isBroken) onContent();
      if (isCut) return false;
      if (!reader.isBroken && !spdy.isBroken) return true;
      isCut = true;
      onPort(0, false);
      return false;
    },
  };
}

/**
 * 0 for all but a port as kubectl writes it. The kubelet takes more, such as zeros in front and the first of two values:
 * a reader that guessed at those would name another port in the audit than the one that is connected to.
 */
function portOf(text: string): number {
  const port = /^[1-9][0-9]{0,4}$/.test(text) ? Number(text) : 0;
  return port <= 65_535 ? port : 0;
}
