import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";
import proxyAddress from "@fastify/proxy-addr";

/** Whether to believe what this address says about the client's address in its forwarding headers. */
export type Trust = (address: string) => boolean;

export const TRUST_NONE: Trust = () => false;

/**
 * Makes the trust rule from the addresses and CIDRs of the proxies in front of the platform.
 * @returns undefined when one of them is neither.
 */
export function trustIn(proxies: readonly string[]): Trust | undefined {
  const trusted = new BlockList();
  for (const proxy of proxies) {
    const [address = "", prefix, ...rest] = proxy.split("/");
    const family = familyOf(address);
    const bits = family === "ipv4" ? 32 : 128;
    if (family === undefined || rest.length > 0) return undefined;
    if (prefix !== undefined && !(/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits)) return undefined;
    trusted.addSubnet(address, Number(prefix ?? bits), family);
  }
  return (address) => {
    const family = familyOf(address);
    return family !== undefined && trusted.check(address, family);
  };
}

function familyOf(address: string): "ipv4" | "ipv6" | undefined {
  const version = isIP(address);
  return version === 0 ? undefined : version === 4 ? "ipv4" : "ipv6";
}

/** The client's address for requests that do not pass through Fastify. Uses the library that Fastify uses. */
export function callerAddress(request: IncomingMessage, trusts: Trust): string {
  return proxyAddress(request, trusts);
}
