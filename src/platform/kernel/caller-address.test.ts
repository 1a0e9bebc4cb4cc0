import type { IncomingMessage } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { ConfigError } from "../../base/settings.ts";
import { readPlatformConfig } from "../platform-config.ts";
import { type RunningPlatform, startPlatform } from "../server.ts";
import { inMemory } from "../testing/empty-database.ts";
import { call } from "../testing/harness.ts";
import { TestClock } from "../testing/test-clock.ts";
import { RATES } from "./budgets/rate-limit.ts";
import { addressBucket, callerAddress, trustIn } from "./caller-address.ts";

const VARIABLE = "SALLYPORT_PLATFORM_TRUSTED_PROXIES";
const trusting = (proxies: string) => readPlatformConfig({ [VARIABLE]: proxies }).trustedProxies;

describe("where a request comes from", () => {
  const from = (peer: string, forwarded: string | undefined, proxies: readonly string[]): string => {
    const request = { socket: { remoteAddress: peer }, headers: { "x-forwarded-for": forwarded } };
    return callerAddress(request as unknown as IncomingMessage, trustIn(proxies) ?? (() => false));
  };

  it.each<[string, string, string | undefined, readonly string[], string]>([
    ["nobody is trusted", "10.0.0.1", "192.0.2.7", [], "10.0.0.1"],
    ["a stranger tells of another", "192.0.2.1", "192.0.2.7", ["10.0.0.0/8"], "192.0.2.1"],
    ["a proxy tells of its peer", "10.0.0.1", "192.0.2.7", ["10.0.0.0/8"], "192.0.2.7"],
    ["a proxy tells nothing", "10.0.0.1", undefined, ["10.0.0.0/8"], "10.0.0.1"],
    ["its peer wrote something before", "10.0.0.1", "198.51.100.1, 192.0.2.7", ["10.0.0.0/8"], "192.0.2.7"],
    ["two proxies in a row", "10.0.0.1", "198.51.100.1, 192.0.2.7 ,, 10.0.0.2", ["10.0.0.0/8"], "192.0.2.7"],
    ["only one of two is trusted", "10.0.0.1", "192.0.2.7, 10.0.0.2", ["10.0.0.1"], "10.0.0.2"],
    ["IPv4 on a socket of IPv6", "::ffff:10.0.0.1", "192.0.2.7", ["10.0.0.0/8"], "192.0.2.7"],
    ["IPv6", "fd00::1", "2001:db8::7", ["fd00::/8"], "2001:db8::7"],
    ["another IPv6", "fe80::1", "2001:db8::7", ["fd00::/8"], "fe80::1"],
    ["no address at all", "10.0.0.1", "unknown", ["10.0.0.0/8"], "unknown"],
  ])("%s", (_case, peer, forwarded, proxies, caller) => {
    expect(from(peer, forwarded, proxies)).toBe(caller);
  });

  it.each(["proxy", "10.0.0.0/33", "fd00::/129", "10.0.0.0/", "10.0.0.0/8/8", "10.0.0.1,", "10.0.0.0/x"])(
    "the setting refuses %s",
    (proxies) => {
      const read = (): unknown => trusting(proxies);
      expect(read).toThrow(ConfigError);
      expect(read).toThrow(VARIABLE);
    },
  );
});

describe("the bucket of an address", () => {
  it.each([
    ["5.5.5.9", "5.5.5.9"],
    ["5.5.5.9:41000", "5.5.5.9"],
    ["::ffff:5.5.5.9", "5.5.5.9"],
    ["::FFFF:505:509", "5.5.5.9"],
    ["0:0:0:0:0:ffff:5.5.5.9", "5.5.5.9"],
    ["[::ffff:5.5.5.9]:41000", "5.5.5.9"],
    ["2001:db8:1:2::7", "2001:db8:1:2::/64"],
    ["2001:DB8:1:2:ffff::8", "2001:db8:1:2::/64"],
    ["[2001:db8:1:2:3:4:5:6]:443", "2001:db8:1:2::/64"],
    ["2001:db8:1:3::7", "2001:db8:1:3::/64"],
    ["2001:db8::7", "2001:db8:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["unknown", "no address"],
    ["5.5.5.9:x", "no address"],
    ["[", "no address"],
    ["", "no address"],
  ])("%s is %s", (address, bucket) => {
    expect(addressBucket(address)).toBe(bucket);
  });
});

const request = async (url: string, headers: Record<string, string>): Promise<number> =>
  (await call(url, "GET", "/v1/whoami", { headers })).status;
const open = async (url: string, headers: Record<string, string>): Promise<number> =>
  (await call(url, "GET", "/v1/openapi.json", { headers })).status;
const upgrade = (url: string, headers: Record<string, string>): Promise<number> => {
  const path = `/v1/debug-sessions/dbg_${"a".repeat(28)}/attach`;
  const socket = new WebSocket(`${url.replace("http", "ws")}${path}`, ["sp-debug.v1", "ticket.none"], { headers });
  const { promise, resolve } = Promise.withResolvers<number>();
  socket.on("error", () => undefined);
  socket.on("unexpected-response", (_request, response) => {
    response.resume();
    resolve(response.statusCode ?? 0);
  });
  return promise;
};

describe.each([
  { who: "a stranger's own address", proxies: "10.0.0.0/8", byHeader: false },
  { who: "the address that a trusted proxy tells", proxies: "127.0.0.0/8", byHeader: true },
])("$who pays", ({ proxies, byHeader }) => {
  const clock = new TestClock();
  let platform: RunningPlatform | undefined;
  beforeAll(async () => {
    // Buckets fill up again by the clock, and the machine may be slow.
    clock.hold();
    platform = await startPlatform({ database: await inMemory(), clock, trustedProxies: trusting(proxies) });
  }, 120_000);
  afterAll(() => platform?.close());

  it.each([
    ["a route with credentials", request],
    ["a route without", open],
    ["a relay's upgrade", upgrade],
  ])("on %s", async (_route, ask) => {
    clock.advance(60_000);
    const { burst } = RATES.unauthenticated;
    const from = (host: number) => ask(platform?.url ?? "", { "x-forwarded-for": `192.0.2.${host}` });
    const statuses: number[] = [];
    for (let host = 1; host <= burst + 1; host += 1) statuses.push(await from(host));
    expect(statuses.indexOf(429)).toBe(byHeader ? -1 : burst);
    for (let more = 1; more <= burst; more += 1) await from(1);
    expect([await from(1), await from(200)].map((status) => status === 429)).toEqual([true, !byHeader]);
    const written = ["192.0.2.1", "::ffff:192.0.2.1", "192.0.2.1:41000", "::ffff:c000:201"];
    for (const address of written) expect(await ask(platform?.url ?? "", { "x-forwarded-for": address })).toBe(429);
  });
});
