import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { systemClock } from "../../../base/clock.ts";
import { newSessionKey } from "../../../debug-link/session-key.ts";
import { newSite } from "../../../platform/areas/deployments/testing/site.ts";
import { callsOf } from "../../../platform/relay/testing/peer.ts";
import { onEachDatabase } from "../../../platform/testing/harness.ts";
import { FriendlyError } from "../../kernel/command.ts";
import type { CallRoute, Surroundings } from "../calling.ts";
import { EXIT_CODES } from "../exit-codes.ts";
import { serveSession } from "./live-session.ts";
import { farClusterOf } from "./testing/far-cluster.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-live-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

onEachDatabase("a live debug session", (world) => {
  it("starts its shell when the connection is lost while the banner is asked for, and when that is refused", async () => {
    const site = await newSite(world);
    const deployment = await site.deploy("shop");
    const key = newSessionKey("engineer", new Date());
    const asked = (await callsOf(world).ask(site, deployment, { clientKey: key.pin })).body;
    const { id } = asked.session;
    const far = await farClusterOf(world)(site);
    const again = Promise.withResolvers<void>();
    let said = "";
    let shells = 0;
    const surroundings: Surroundings = {
      ...{ env: { XDG_CONFIG_HOME: folder }, clock: systemClock, out: () => undefined, isTTY: false },
      error(text) {
        said += text;
        if (said.includes("connected again")) again.resolve();
      },
      ...{ readInput: async () => "", askSecret: undefined, openBrowser: undefined },
      async runShell() {
        shells += 1;
        await again.promise;
      },
    };
    const call: CallRoute = async (area, name) => {
      if (area === "accessRequests") {
        far.lose();
        throw new Error("the platform does not answer");
      }
      const path = `/v1/debug-sessions/${id}`;
      if (name === "ticket") return (await site.call("POST", `${path}/tickets`)).body;
      const session = (await site.call("GET", path)).body;
      return { ...session, access: { ...session.access, accessRequestId: "ar_1" } };
    };
    const wanted = { deploymentId: deployment, namespace: "web", mode: "exec", minutes: 60, reason: "look" } as const;
    const kept = { ...wanted, key };
    const ticket = { url: asked.attachUrl, ticket: asked.ticket };
    const options = { id, kept, ticket, platformUrl: world.platform.url, printKubeconfig: false };
    const code = await serveSession(options, surroundings, call, new AbortController().signal);
    expect([code, shells], said).toEqual([0, 1]);
    expect(said).toContain("approved by: unknown");
    expect(await far.served).toBe("client");
  });
});

it.each([
  [`ar_${"a".repeat(28)}`, `; while it holds: sallyport debug open --request ar_${"a".repeat(28)}`],
  ["ar_1;reboot", ""],
])(
  "a session under the request %s that was refused tells its approval, and only a line that may be pasted",
  async (requestId, line) => {
    let said = "";
    const surroundings: Surroundings = {
      ...{ env: { XDG_CONFIG_HOME: folder }, clock: systemClock, out: () => undefined, isTTY: false },
      error(text) {
        said += text;
      },
      ...{ readInput: async () => "", askSecret: undefined, openBrowser: undefined },
    };
    const call: CallRoute = async (_, name) => {
      if (name !== "ticket") return { state: "failed", closeReason: "refused", error: null };
      throw new FriendlyError("the session is over", { exitCode: EXIT_CODES.conflict.code });
    };
    const wanted = { deploymentId: "dep_1", namespace: "web", mode: "exec", minutes: 60, reason: "look" } as const;
    const kept = { ...wanted, key: newSessionKey("engineer", new Date()) };
    const id = `dbg_${"b".repeat(28)}`;
    const options = { id, requestId, kept, platformUrl: "http://127.0.0.1:9", printKubeconfig: true };
    await serveSession(options, surroundings, call, new AbortController().signal);
    expect(said).toContain(`${id}: ended (refused)\nthe approval is not used up${line}\n`);
  },
);
