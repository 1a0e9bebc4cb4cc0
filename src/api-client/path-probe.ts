import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect as tcpConnect } from "node:net";
import type { Duplex } from "node:stream";
import { connect as tlsConnect } from "node:tls";

/** Where on the way to the platform something is wrong. */
export type PathFinding =
  | { readonly at: "proxy"; readonly problem: "unreachable"; readonly code: string }
  /** It answered the CONNECT with this status. 407: wrong or missing credentials. */
  | { readonly at: "proxy"; readonly problem: "refused"; readonly status: number }
  | { readonly at: "platform"; readonly code: string }
  /** The certificate shown is not accepted. `issuer`: who signed it, in the words of the certificate. */
  | { readonly at: "certificate"; readonly code: string; readonly issuer: string }
  /** Every step works, up to and with TLS: the cause is behind it, or is over. */
  | { readonly at: "nowhere" };

class ProxyRefusal extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`proxy answered ${status}`);
    this.status = status;
  }
}

/**
 * Tries each step of the way to `base` once, after a call has failed, to find which step is broken. It ends with the
 * TLS handshake and sends nothing to the platform, so it can read an untrusted certificate without trusting it.
 *
 * @param proxy URL, with its credentials; undefined: direct.
 */
export async function probePath(base: URL, proxy: string | undefined, signal: AbortSignal): Promise<PathFinding> {
  let socket: Duplex;
  try {
    socket = await (proxy === undefined ? direct(base, signal) : tunnel(base, new URL(proxy), signal));
  } catch (error) {
    if (error instanceof ProxyRefusal) return { at: "proxy", problem: "refused", status: error.status };
    const code = codeOf(error);
    return proxy === undefined ? { at: "platform", code } : { at: "proxy", problem: "unreachable", code };
  }
  try {
    return base.protocol === "https:" ? await handshake(base, socket, signal) : { at: "nowhere" };
  } finally {
    socket.destroy();
  }
}

function direct(base: URL, signal: AbortSignal): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = tcpConnect({ host: hostOf(base), port: portOf(base), signal });
    socket.once("connect", () => resolve(socket));
    socket.once("error", reject);
  });
}

function tunnel(base: URL, proxy: URL, signal: AbortSignal): Promise<Duplex> {
  const target = `${base.hostname}:${portOf(base)}`;
  const user = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  const headers = {
    host: target,
    ...(proxy.username !== "" && { "proxy-authorization": `Basic ${Buffer.from(user).toString("base64")}` }),
  };
  const request = proxy.protocol === "https:" ? httpsRequest : httpRequest;
  const where = { host: hostOf(proxy), port: portOf(proxy), method: "CONNECT", path: target, agent: false as const };
  return new Promise((resolve, reject) => {
    const asked = request({ ...where, headers, signal });
    asked.once("connect", ({ statusCode = 0 }, socket) => {
      if (statusCode === 200) return resolve(socket);
      socket.destroy();
      reject(new ProxyRefusal(statusCode));
    });
    // The proxy answered CONNECT as it answers other requests.
    asked.once("response", ({ statusCode = 0 }) => {
      asked.destroy();
      reject(new ProxyRefusal(statusCode));
    });
    asked.once("error", reject);
    asked.end();
  });
}

function handshake(base: URL, socket: Duplex, signal: AbortSignal): Promise<PathFinding> {
  const host = hostOf(base);
  return new Promise((resolve) => {
    const servername = /^[\d.]+$|:/.test(host) ? {} : { servername: host };
    // Only reads the certificate: nothing is written, and the socket is closed at once.
    const secure = tlsConnect({ socket, rejectUnauthorized: false, host, ...servername });
    const abort = (): void => {
      secure.destroy();
      resolve({ at: "platform", code: "ETIMEDOUT" });
    };
    signal.addEventListener("abort", abort, { once: true });
    secure.once("error", (error) => resolve({ at: "platform", code: codeOf(error) }));
    secure.once("close", () => resolve({ at: "platform", code: "ECONNRESET" }));
    secure.once("secureConnect", () => {
      signal.removeEventListener("abort", abort);
      const { authorized, authorizationError } = secure;
      const { CN, O: organisation } = secure.getPeerCertificate().issuer ?? {};
      const issuer = [CN, organisation].flat().filter(Boolean).join(", ");
      resolve(authorized ? { at: "nowhere" } : { at: "certificate", code: codeOf(authorizationError), issuer });
      secure.destroy();
    });
  });
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "");
}

function portOf({ port, protocol }: URL): number {
  return Number(port || (protocol === "https:" ? 443 : 80));
}

function codeOf(error: unknown): string {
  if (typeof error === "string") return error;
  if (!(error instanceof Error)) return "no error code";
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
