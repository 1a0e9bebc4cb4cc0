import { isPlainLoopback } from "../../../base/loopback.ts";
import type { CallConfig } from "../../kernel/call/call-config.ts";

/** The address under which browsers see the platform. Behind a proxy it is not the listen address. */
export interface Site {
  readonly origin: string;
  /** Path prefix that a proxy removes before it forwards; usually empty. */
  readonly prefix: string;
  /** True: cookies only over https. False only for loopback. */
  readonly secure: boolean;
  /** The platform is on this machine: the only place where the developer sign-in is allowed. */
  readonly loopback: boolean;
}

export function siteOf({ baseUrl }: Pick<CallConfig, "baseUrl">): Site {
  const { origin, pathname, hostname } = new URL(baseUrl);
  const plainLoopback = isPlainLoopback(baseUrl);
  const loopback = plainLoopback || isPlainLoopback(`http://${hostname}`);
  return { origin, prefix: pathname.replace(/\/+$/, ""), secure: !plainLoopback, loopback };
}
