import { expect, it } from "vitest";
import { type Answer, onEachDatabase } from "../../testing/harness.ts";
import { newSite, type Site } from "../deployments/testing/site.ts";
import { reasonWith, staleSince } from "./stale-state.ts";

const POD = { namespace: "shop", pod: "api-0" };
const PARAMS: Readonly<Record<string, object>> = { "get-pods": { namespace: "shop" } };
const TIERS = { "get-pods": "read-only", "restart-pod": "mutating", "delete-pod": "destructive" } as const;
const AGES = [undefined, 0, 120_000, 190_000] as const;

onEachDatabase("what is destructive, asked for on old knowledge", (world) => {
  const reportResources = async (site: Site, id: string): Promise<string> => {
    const observedAt = world.clock.wallNow().toISOString();
    const resource = {
      ...{ rawIdentity: "apps/v1:Deployment:shop:api", providerKind: "Deployment", displayName: "api" },
      ...{ health: "healthy", lifecycle: "running", partial: false, providerStale: false },
    };
    const batch = {
      ...{ sourceKind: "operator", inventoryScope: "shop", controllerPlatform: "kubernetes", backend: "kubernetes" },
      ...{ observedAt, complete: true, resources: [resource] },
    };
    const answer = await site.report(id, "pending", { observedInventoryBatches: [batch] });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return observedAt;
  };
  const queue = async (site: Site, deploymentId: string, operation: string, body?: object, reason?: string) => {
    const params = PARAMS[operation] ?? POD;
    const plan = {
      ...{ deploymentId, remediationPlanId: "incident-7", title: "Look after the api", ...(reason && { reason }) },
      commands: [{ command: `kubernetes/${operation}`, summary: "s", params }],
    };
    const { id } = (await site.call("POST", "/v1/access-requests", { body: plan })).body;
    return site.call("POST", `/v1/access-requests/${id}/queue`, { ...(body && { body }) });
  };
  const invoke = (site: Site, deploymentId: string, operation: string, body: object): Promise<Answer> =>
    site.call("POST", "/v1/operations/invoke", {
      query: { project: site.project.id },
      body: { deploymentId, plugin: "kubernetes", operation, params: PARAMS[operation] ?? POD, ...body },
    });

  it("tier, age, and whether the caller accepts it decide, for a plan and for an invocation alike", async () => {
    const site = await newSite(world);
    const rules = [{ pattern: "*", decision: "auto" }];
    const query = { project: site.project.id };
    expect((await site.call("PUT", "/v1/operations/policy", { query, body: { rules } })).status).toBe(200);
    for (const age of AGES) {
      const id = await site.deploy(`age-${age ?? "unknown"}`);
      const observedAt = age === undefined ? undefined : await reportResources(site, id);
      world.clock.advance(age ?? 0);
      for (const [operation, tier] of Object.entries(TIERS)) {
        for (const acceptStale of [undefined, false, true]) {
          const old = tier === "destructive" && age === 190_000;
          const expected =
            old && acceptStale !== true
              ? [409, "RESOURCE_STATE_STALE", { observedAt, ageSeconds: expect.any(Number), limitSeconds: 180 }]
              : [200, undefined, undefined];
          const accepted = old && acceptStale === true ? { observedAt, ageSeconds: expect.any(Number) } : null;
          const body = acceptStale === undefined ? {} : { acceptStale };
          const what = `${age} ${tier} ${acceptStale}`;
          const queued = await queue(site, id, operation, body);
          expect([queued.status, queued.body.code, queued.body.context], what).toEqual(expected);
          if (queued.status === 200) expect(queued.body.acceptedStale, what).toEqual(accepted);
          const invoked = await invoke(site, id, operation, body);
          expect([invoked.status, invoked.body.code, invoked.body.context], what).toEqual(expected);
          if (invoked.status !== 200) continue;
          const command = await site.call("GET", `/v1/commands/${invoked.body.commandId}`);
          expect(command.body.acceptedStale, what).toEqual(accepted);
        }
      }
    }
  });

  it("at 180 seconds exactly the knowledge is fresh", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const observedAt = await reportResources(site, id);
    const at = (afterMs: number) => {
      const call = { db: world.platform.db, now: new Date(Date.parse(observedAt) + afterMs) };
      return staleSince(call, id, "destructive", true);
    };
    expect([await at(-1), await at(180_000), await at(180_001)]).toEqual([null, null, new Date(observedAt)]);
  });

  it("a confirmation without rows counts as an observation, and a refused queue leaves the request as it was", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const level = () => ({
      resourceLevel: {
        ...{ observedAt: world.clock.wallNow().toISOString(), digest: "0".repeat(16), heartbeats: 0, rows: 0 },
        complete: true,
      },
    });
    expect((await site.report(id, "pending", level())).status).toBe(200);
    world.clock.advance(600_000);
    const refused = await queue(site, id, "delete-pod");
    expect(refused.body).toMatchObject({
      code: "RESOURCE_STATE_STALE",
      retryable: false,
      message: expect.stringContaining("last observed 10 minutes ago"),
      hint: expect.stringContaining("acceptStale"),
    });
    const query = { deploymentId: id };
    const [request] = (await site.call("GET", "/v1/access-requests", { query })).body.items;
    expect([request.status, request.queuedAt, request.acceptedStale]).toEqual(["pending-approval", null, null]);
    expect((await site.report(id, "pending", level())).status).toBe(200);
    expect((await site.call("POST", `/v1/access-requests/${request.id}/queue`)).status).toBe(200);
  });

  it("a confirmation by a reporter that cannot read all counts for nothing by itself", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const level = (complete: boolean) => ({
      resourceLevel: {
        ...{ observedAt: world.clock.wallNow().toISOString(), digest: "0".repeat(16), heartbeats: 0, rows: 0 },
        complete,
      },
    });
    const observedAt = await reportResources(site, id);
    const batch = {
      ...{ sourceKind: "operator", inventoryScope: "shop", controllerPlatform: "kubernetes", backend: "kubernetes" },
      ...{ observedAt, mode: "delta", complete: false, resources: [] },
    };
    expect((await site.report(id, "pending", { observedInventoryBatches: [batch], ...level(false) })).status).toBe(200);
    world.clock.advance(600_000);
    const confirmed = await site.report(id, "pending", level(false));
    expect([confirmed.status, confirmed.body.resendResources]).toEqual([200, undefined]);
    expect((await queue(site, id, "delete-pod")).body).toMatchObject({
      code: "RESOURCE_STATE_STALE",
      context: { observedAt, ageSeconds: 600 },
    });
  });

  it("the manager reads in the reason how old it was, also later, and the plan's hash stays", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const observedAt = await reportResources(site, id);
    world.clock.advance(43 * 60_000);
    const { body } = await queue(site, id, "delete-pod", { acceptStale: true }, "The pod hangs.");
    expect(body.reason).toBe("The pod hangs.");
    world.clock.advance(3_600_000);
    const query = { deploymentId: id };
    const pending = await world.call("GET", "/v1/access-requests/pending", { key: site.manager.key, query });
    expect(pending.body.requests).toMatchObject([
      {
        id: body.id,
        planHash: body.planHash,
        reason: `The pod hangs.\n\n[platform] Raised on knowledge that is 43 minutes old: the resources were last observed at ${observedAt}.`,
      },
    ]);
  });

  it.each([[{ acceptStale: "yes" }], [{ acceptStale: null }], [{ acceptstale: true }]])(
    "%j is refused with its path",
    async (body) => {
      const site = await newSite(world);
      const answer = await queue(site, await site.deploy("shop"), "delete-pod", body);
      expect([answer.status, answer.body.code]).toEqual([400, "VALIDATION_ERROR"]);
      expect(answer.body.context.issues[0].path).toMatch(/^body/);
    },
  );
});

it("a reason fits the customer's cluster with the platform's words, and keeps whole characters", () => {
  const accepted = { observedAt: "2026-01-01T12:00:00.000Z", ageSeconds: 200_000 };
  const note =
    "[platform] Raised on knowledge that is 2 days old: the resources were last observed at 2026-01-01T12:00:00.000Z.";
  expect(reasonWith("as it is", null)).toBe("as it is");
  expect([reasonWith(null, accepted), reasonWith(" ", accepted)]).toEqual([note, note]);
  for (const text of ["x".repeat(2_048), "🚪".repeat(1_024), `x${"🚪".repeat(1_023)}`]) {
    const reason = reasonWith(text, accepted) ?? "";
    expect(reason.length).toBeGreaterThan(2_046);
    expect(reason.length).toBeLessThanOrEqual(2_048);
    expect([reason.isWellFormed(), reason.endsWith(`…\n\n${note}`)]).toEqual([true, true]);
  }
});
