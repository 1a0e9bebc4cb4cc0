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

/**
 * The rate bucket of an address, however a proxy writes it: without its port and zone, IPv4 in IPv6 as IPv4, and IPv6 by
 * its /64, since one host has all addresses of such a network. What is no address shares one bucket.
 */
export function addressBucket(address: string): string {
  const bare = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(address)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(address)?.[1] ?? address;
  const plain = bare.split("%", 1)[0] ?? "";
  const version = isIP(plain);
  if (version !== 6) return version === 4 ? plain : "no address";
  const groups = groupsOf(plain);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (!isMapped)
    return `${groups
      .slice(0, 4)
      .map((group) => group.toString(16))
      .join(":")}::/64`;
  return groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 255])
    .join(".");
}

/** The eight numbers of an IPv6 address. The URL parser writes a tail in IPv4's form as two of them. */
function groupsOf(address: string): readonly number[] {
  const [head = "", tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const numbers = (part: string): number[] => (part === "" ? [] : part.split(":").map((group) => parseInt(group, 16)));
  const [first, last] = [numbers(head), numbers(tail ?? "")];
  return [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last];
}
