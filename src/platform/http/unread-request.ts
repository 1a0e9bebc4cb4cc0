import type { Socket } from "node:net";
import { invalid, PlatformError, toBody } from "../kernel/errors.ts";
import { uuidv7 } from "../kernel/ids.ts";

/** By Node's codes for what its parser gave up on (https://nodejs.org/docs/latest-v24.x/api/http.html#event-clienterror). */
function errorOf(code: string | undefined): PlatformError {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return new PlatformError("TIMEOUT");
  const tooLong = "of the request, with its address, are longer than 16 KiB";
  return invalid({ path: "header", message: code === "HPE_HEADER_OVERFLOW" ? tooLong : "is not HTTP" });
}

/**
 * Answers what never became a request: Node could not read it, so no route, no trace and no header of it exists. The
 * connection ends, since nobody knows where the next request would begin.
 */
export function refuseUnread({ code }: { readonly code?: string }, socket: Socket, now: Date): void {
  if (code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const requestId = uuidv7(now.getTime());
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
}
