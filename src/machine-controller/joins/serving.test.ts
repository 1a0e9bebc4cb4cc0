import { describe, expect, test } from "vitest";
import { node } from "../testing/drain-fixtures.ts";
import { foreignName } from "./serving.ts";

const OWN = [
  { type: "InternalIP", address: "10.0.0.7" },
  { type: "InternalIP", address: "2001:DB8:0:0::7" },
  { type: "ExternalIP", address: "192.0.2.7" },
  { type: "Hostname", address: "m-7" },
  { type: "InternalDNS", address: "m-7.zone.internal" },
];
const asked = (...names: readonly string[]): Parameters<typeof foreignName>[0] => ({
  nodeName: "m-7",
  publicKey: "0".repeat(64),
  dnsNames: names.filter((name) => !/^[0-9.]+$|:/.test(name)),
  addresses: names.filter((name) => /^[0-9.]+$|:/.test(name)),
});
const judged = (
  names: readonly string[],
  more: readonly string[] = [],
  apiServer = "https://api.customer.example",
): string | undefined => {
  const own = node("m-7", { addresses: [...OWN, ...more.map((address) => ({ type: "InternalIP", address }))] });
  const other = node("m-8", { addresses: [{ type: "InternalIP", address: "10.0.0.8" }] });
  return foreignName(asked(...names), own, [own, other], [apiServer, "https://10.96.0.1:443"]);
};

describe("the names of a serving certificate", () => {
  test.each([
    ["all of the node's", ["m-7", "m-7.zone.internal", "10.0.0.7", "192.0.2.7", "2001:db8::7"]],
    ["some of them", ["10.0.0.7"]],
    ["its name alone", ["m-7"]],
  ])("are good: %s", (_, names) => expect(judged(names, [], "https://10.0.0.10:6443")).toBeUndefined());

  // A node says itself what its addresses are: `more` is what a hostile one would say.
  test.each<readonly [string, readonly string[], readonly string[], string | undefined, string]>([
    ["an address that it does not say", ["10.0.0.9"], [], undefined, "10.0.0.9 is not among"],
    ["a name that it does not say", ["m-7.other"], [], undefined, "m-7.other is not among"],
    ["another node's address", ["10.0.0.8"], ["10.0.0.8"], undefined, "node m-8 says"],
    ["another machine's name", ["m-8"], ["m-8"], undefined, "neither the name"],
    ["a name that only begins like it", ["m-77"], ["m-77"], undefined, "neither the name"],
    ["the API server's name", ["kubernetes.default.svc"], ["kubernetes.default.svc"], undefined, "neither the name"],
    ["a Service of its name", ["m-7.shop.svc"], ["m-7.shop.svc"], undefined, "neither the name"],
    ["the same, in full", ["m-7.shop.svc.cluster.local"], ["m-7.shop.svc.cluster.local"], undefined, "neither"],
    ["the API server's address", ["10.0.0.10"], ["10.0.0.10"], "https://10.0.0.10:6443", "the API server's"],
    ["that of its Service", ["10.96.0.1"], ["10.96.0.1"], undefined, "the API server's"],
    ["the same, of IPv6", ["2001:db8::10"], ["2001:db8::10"], "https://[2001:DB8::10]:6443", "the API server's"],
    ["the address of each machine itself", ["127.0.0.1"], ["127.0.0.1"], undefined, "of one machine"],
    ["the address of a cloud's metadata", ["169.254.169.254"], ["169.254.169.254"], undefined, "of one machine"],
    ["an address of one link", ["fe80::1"], ["fe80::1"], undefined, "of one machine"],
    ["no address", ["0.0.0.0"], ["0.0.0.0"], undefined, "of one machine"],
    ["the same, of IPv6", ["::1"], ["::1"], undefined, "of one machine"],
    ["a group's address", ["ff02::1"], ["ff02::1"], undefined, "of one machine"],
  ])("are refused: %s", (_, names, more, apiServer, words) => {
    expect(judged(["m-7", ...names], more, apiServer)).toContain(words);
  });

  test("are nobody's before the node is there", () => {
    expect(foreignName(asked("m-7"), undefined, [], [])).toContain("no node m-7");
  });
});
