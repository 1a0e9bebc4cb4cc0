import { isLoopbackHost } from "../base/loopback.ts";

const PATH = /\/v1\/debug-sessions\/dbg_[0-9a-zA-Z]{28}\/(attach|tunnel)$/;

/**
 * The relay's address: the path that a ticket came with, at the platform that the process was configured with. A platform
 * must not be able to send a process that runs in a customer's cluster to any address it likes.
 *
 * @throws Error when the path is none of the relay's, or the ticket would travel unencrypted
 */
export function relayAddress(platformUrl: string, given: string): string {
  const path = PATH.exec(URL.parse(given)?.pathname ?? "")?.[0];
  if (path === undefined) throw new Error("the platform gave no address of its relay");
  const base = new URL(platformUrl);
  if (base.protocol === "http:" && !isLoopbackHost(base.hostname)) {
    throw new Error("the platform's address must be https unless it is loopback: the ticket travels on it");
  }
  const root = base.href.endsWith("/") ? base.href.slice(0, -1) : base.href;
  return root.replace(/^http/, "ws") + path;
}
