import { afterAll, beforeAll, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { sentFields } from "../../../scripts/generate/egress/egress.ts";
import { HEADER_WORDS } from "../../../scripts/generate/egress/egress-words.ts";
import { TUNNEL_ROUTES } from "../../../src/tunnel/kernel/routes.ts";
import { WITH_DEBUG } from "../../world/installation.ts";
import { eventually } from "../../world/wait.ts";
import { openSession } from "../debug/engineer.ts";
import { createTunnelWorld, type TunnelWorld } from "../debug/tunnel-world.ts";
import { CapturedFields } from "./captured.ts";

// Compares docs/data-that-leaves.md with what the tunnel sends in a session from its beginning to its end.

const cluster = useCluster({ holds: WITH_DEBUG });
const captured = new CapturedFields(TUNNEL_ROUTES);
/** Of a WebSocket's handshake, and of no other request. */
const OF_UPGRADE = [
  "connection",
  "host",
  "sec-websocket-key",
  "sec-websocket-protocol",
  "sec-websocket-version",
  "upgrade",
];
let at: TunnelWorld;
const ofUpgrades = new Set<string>();

beforeAll(async () => {
  at = await createTunnelWorld(cluster());
  const { gate } = at.world;
  gate.onHeard = (request) => {
    const isTunnels = String(request.headers["user-agent"] ?? "").startsWith("sallyport-tunnel");
    if (request.headers.upgrade !== undefined) {
      captured.strangers.push(`${request.method} ${request.target.replace(/dbg_\w+/, "ID")}`);
      for (const name of Object.keys(request.headers)) ofUpgrades.add(name);
    } else if (isTunnels) captured.add(request);
  };
  await at.startTunnel("tunnel", { SALLYPORT_PLATFORM_URL: gate.url });
  const session = await openSession(at, { mode: "exec" });
  expect((await session.kubectl(["exec", "api-0", "--", "echo", "said"])).stdout).toBe("said\n");
  await session.close();
  await eventually(
    async () => captured.fields.get("debugSessions.patch"),
    (seen) => seen.has("body.auditHead"),
  );
});
afterAll(() => at?.close());

test("the page names every route, field and header of the tunnel", () => {
  expect(captured.undocumented(sentFields())).toEqual([]);
  const routes = Object.entries(TUNNEL_ROUTES).flatMap(([area, all]) =>
    Object.keys(all).map((name) => `${area}.${name}`),
  );
  expect([...captured.fields.keys()].filter((each) => !routes.includes(each))).toEqual([]);
  expect([...captured.fields.keys()]).toEqual(expect.arrayContaining(["debugRelay.ticket", "debugSessions.patch"]));
  expect([...captured.headers].filter((name) => HEADER_WORDS[name] === undefined)).toEqual([]);
});

test("its one other request is the WebSocket that the page speaks of", () => {
  expect(new Set(captured.strangers)).toEqual(new Set(["GET /v1/debug-sessions/ID/tunnel"]));
  expect([...ofUpgrades].toSorted()).toEqual(OF_UPGRADE);
});
