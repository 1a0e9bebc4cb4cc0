import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { UserTokens } from "../../api-client/user-sign-in.ts";
import type { Clock } from "../../base/clock.ts";
import { FriendlyError } from "../kernel/command.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import { withSignIn } from "./user-credential.ts";

export interface BrowserSignIn {
  readonly url: string;
  readonly clock: Clock;
  /** Shows the address, and opens it where that is wanted and possible. */
  show(address: string): void;
}

/** Time for the user to sign in at an identity provider. */
const PATIENCE_MS = 10 * 60_000;

const CALLBACK_PATH = "/callback";

const PAGE = (title: string, text: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title></head>
<body style="font: 1rem/1.5 system-ui, sans-serif; margin: 3rem auto; max-width: 28rem; padding: 0 1rem">
<h1 style="font-size: 1.5rem">${title}</h1><p>${text}</p></body></html>
`;

/**
 * Signs in with a browser that comes back to a port of this machine (RFC 8252 §7.3). An answer to another sign-in is
 * refused: it must carry our state, and its code works only with our verifier.
 */
export async function signInWithBrowser({ url, clock, show }: BrowserSignIn, signal: AbortSignal): Promise<UserTokens> {
  const callback = Promise.withResolvers<URL>();
  const server = createServer((request, response) => {
    const { port } = server.address() as AddressInfo;
    const address = new URL(request.url ?? "/", `http://127.0.0.1:${port}`);
    const isCallback = request.method === "GET" && address.pathname === CALLBACK_PATH;
    const ok = isCallback && address.searchParams.has("code");
    response.writeHead(isCallback ? 200 : 404, {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
      "referrer-policy": "no-referrer",
      connection: "close",
    });
    if (!isCallback) return void response.end(PAGE("Nothing here", "This port waits for a sign-in."));
    const title = ok ? "Back to the terminal" : "Not signed in";
    response.end(PAGE(title, "You can close this window: the terminal says how it went."), () =>
      callback.resolve(address),
    );
  });
  try {
    const port = await listening(server);
    return await withSignIn(url, async (signIn) => {
      const underWay = await signIn.begin(`http://127.0.0.1:${port}${CALLBACK_PATH}`, signal);
      show(underWay.url.href);
      return underWay.finish(await within(PATIENCE_MS, clock, callback.promise, signal), signal);
    });
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

function listening(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

async function within<T>(ms: number, clock: Clock, work: Promise<T>, signal: AbortSignal): Promise<T> {
  const over = Promise.withResolvers<never>();
  const stop = (): void => over.reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  const cancel = clock.after(ms, () => {
    over.reject(
      new FriendlyError("no sign-in came from the browser within ten minutes", {
        exitCode: EXIT_CODES.credential.code,
      }),
    );
  });
  try {
    return await Promise.race([work, over.promise]);
  } finally {
    cancel();
    signal.removeEventListener("abort", stop);
  }
}
