import type { CallConfig } from "../kernel/call/call-config.ts";
import { isLoopback } from "./oauth/client.ts";

/** Where browsers see us, which behind a proxy is not where we listen. */
export interface Site {
  readonly origin: string;
  /** Path that a proxy takes off before it asks us; mostly empty. */
  readonly prefix: string;
  /** Cookies for https only: everywhere but on this machine itself. */
  readonly secure: boolean;
  /** On this machine: the only place where signing in without proof is allowed. */
  readonly loopback: boolean;
}

export function siteOf({ baseUrl }: Pick<CallConfig, "baseUrl">): Site {
  const { origin, pathname, hostname } = new URL(baseUrl);
  const plainLoopback = isLoopback(baseUrl);
  const loopback = plainLoopback || isLoopback(`http://${hostname}`);
  return { origin, prefix: pathname.replace(/\/+$/, ""), secure: !plainLoopback, loopback };
}
