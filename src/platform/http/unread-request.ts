import type { Socket } from "node:net";
import type { Clock } from "../../base/clock.ts";
import { invalid, PlatformError, toBody } from "../kernel/errors.ts";
import { uuidv7 } from "../kernel/ids.ts";
import { linger } from "../kernel/linger.ts";

/** Maps the codes of Node's parser errors (https://nodejs.org/docs/latest-v24.x/api/http.html#event-clienterror). */
function errorOf(code: string | undefined): PlatformError {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return new PlatformError("TIMEOUT");
  const tooLong = "of the request, with its address, are longer than 16 KiB";
  return invalid({ path: "header", message: code === "HPE_HEADER_OVERFLOW" ? tooLong : "is not HTTP" });
}

/**
 * Answers a request that Node could not parse, so that it has no route, no trace and no headers. Closes the connection,
 * because the start of the next request in it is unknown.
 */
export function refuseUnread({ code }: { readonly code?: string }, socket: Socket, clock: Clock): void {
  if (code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const requestId = uuidv7(clock.wallNow().getTime());
  const body = JSON.stringify(toBody(errorOf(code), requestId));
  const status = code === "ERR_HTTP_REQUEST_TIMEOUT" ? "504 Gateway Timeout" : "400 Bad Request";
  socket.end(
    [
      `HTTP/1.1 ${status}`,
      `x-request-id: ${requestId}`,
      "cache-control: no-store",
      "content-type: application/json; charset=utf-8",
      `content-length: ${Buffer.byteLength(body)}`,
      "connection: close",
      "",
      body,
    ].join("\r\n"),
  );
  linger(socket, clock);
}
