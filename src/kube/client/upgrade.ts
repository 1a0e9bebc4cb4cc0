import type { IncomingHttpHeaders } from "node:http";
import type { Duplex } from "node:stream";
import type { Dispatcher } from "undici";

/** The upgraded connection, or the server's refusal in its own words. */
export interface UpgradeAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Of a 101: the caller's from now on. Destroy it. */
  readonly socket?: Duplex;
  /** Of any other status. */
  readonly body?: Buffer;
}

const MAX_BODY = 65_536;

/**
 * undici's own `upgrade` throws a refusal away; a person must read it. Once it has resolved with a socket, `signal` has
 * no hold on it.
 */
export function upgradeOn(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  signal: AbortSignal,
): Promise<UpgradeAnswer> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    let abort: (reason: Error) => void = () => undefined;
    const onAbort = (): void => abort(abortReason(signal));
    signal.addEventListener("abort", onAbort, { once: true });
    const done = (): void => signal.removeEventListener("abort", onAbort);
    let refusal: { status: number; headers: IncomingHttpHeaders } | undefined;
    const body: Buffer[] = [];
    let bytes = 0;
    dispatcher.dispatch(options, {
      onRequestStart(controller) {
        abort = (reason) => controller.abort(reason);
        if (signal.aborted) onAbort();
      },
      onRequestUpgrade(_controller, status, headers, socket) {
        done();
        resolve({ status, headers, socket });
      },
      onResponseStart(_controller, status, headers) {
        refusal = { status, headers };
      },
      onResponseData(_controller, chunk) {
        bytes += chunk.length;
        if (bytes <= MAX_BODY) body.push(chunk);
      },
      onResponseEnd() {
        done();
        if (refusal === undefined) reject(new Error("the server did not answer"));
        else resolve({ ...refusal, body: Buffer.concat(body) });
      },
      onResponseError(_controller, error) {
        done();
        reject(signal.aborted ? abortReason(signal) : error);
      },
    });
  });
}

function abortReason({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new Error("aborted");
}
