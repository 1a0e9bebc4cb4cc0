import { type ServingRequest, sameAddress } from "../../kube/objects/serving-request.ts";
import type { DrainNode } from "../drains/shapes.ts";

// Whose the names of a kubelet's serving certificate are. A node writes its own addresses, so that they alone prove
// nothing: a name must also be one that no node but this can have.

const LOCAL = /^(0[.]|127[.]|169[.]254[.]|22[4-9][.]|23\d[.]|255[.]255[.]255[.]255$|::1?$|fe[89ab]|ff)/;
/** Names of Services, which a node must never answer to. */
const SERVICE = /[.]svc([.]|$)/;

/**
 * @param others nodes of the cluster, this one or not
 * @param apiServers its addresses, as machines and as pods reach it
 * @returns why one of the names is not this node's, in words for the customer; undefined when all are
 */
export function foreignName(
  { nodeName, dnsNames, addresses }: ServingRequest,
  node: DrainNode | undefined,
  others: Iterable<DrainNode>,
  apiServers: readonly string[],
): string | undefined {
  if (node === undefined) return `there is no node ${nodeName} yet`;
  const said = new Set(namesOf(node));
  for (const name of [...dnsNames, ...addresses]) {
    if (!said.has(name)) return `${name} is not among the addresses in the status of node ${nodeName}`;
  }
  for (const name of dnsNames) {
    const isItsOwn = name === nodeName || (name.startsWith(`${nodeName}.`) && !SERVICE.test(name));
    if (!isItsOwn) return `${name} is neither the name of node ${nodeName} nor a longer form of it`;
  }
  const hosts = apiServers.map(hostOf);
  for (const address of addresses) {
    if (LOCAL.test(address)) return `${address} is no address of one machine`;
    if (hosts.includes(address)) return `${address} is the API server's address`;
  }
  for (const other of others) {
    if (other.metadata.name === nodeName) continue;
    const shared = namesOf(other).find((name) => addresses.includes(name) || dnsNames.includes(name));
    if (shared !== undefined) return `node ${other.metadata.name} says that it has ${shared} too`;
  }
  return undefined;
}

/** What a node says that it is reached by, in one spelling. */
function namesOf({ status }: DrainNode): readonly string[] {
  return status.addresses.map(({ address }) => sameAddress(address) ?? address.toLowerCase());
}

function hostOf(url: string): string {
  const { hostname } = new URL(url);
  return sameAddress(hostname.replace(/^\[|\]$/g, "")) ?? hostname;
}
