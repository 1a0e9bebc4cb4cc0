import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Clock } from "../../base/clock.ts";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { runs } from "../../base/testing/runs.ts";
import { grantAccount } from "../../crds/group.ts";
import { acceptedOf } from "../../crds/kinds/accepted-namespaces.ts";
import { type AccessGrant, accessGrants } from "../../crds/kinds/access-grant.ts";
import { type OperationInvocation, operationInvocations } from "../../crds/kinds/operation-invocation.ts";
import { BUILT_IN } from "../../crds/operations/catalog.ts";
import { writeStatus } from "../../kube/client/status-writer.ts";
import { LeadershipLostError } from "../../kube/election/leader-election.ts";
import { resources } from "../../kube/objects/resource.ts";
import { Access } from "../access/access.ts";
import { claimDigest } from "../gate/gate.ts";
import { mergePolicies } from "../gate/policy.ts";
import { reconcileGrant } from "../grants/grant-reconciler.ts";
import { findOperation } from "../operations/catalog.ts";
import { RunningOperations } from "../operations/running-operations.ts";
import { FakeCluster, refusal } from "../testing/fake-cluster.ts";
import {
  approvedGrant,
  automatic,
  DEPLOYMENT_ID,
  GRANT_UID,
  INVOCATION_UID,
  invocation,
  NAMESPACE,
} from "../testing/fixtures.ts";
import { type GateFacts, type InvocationPorts, reconcileInvocation } from "./invocation-reconciler.ts";
import { OperationRunner } from "./operation-runner.ts";

const DEPLOYMENTS = [{ spec: { deploymentId: DEPLOYMENT_ID, name: "shop", acceptedNamespaces: ["shop"] } }];
const WEB = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: {
    name: "web",
    namespace: "shop",
    uid: "w",
    resourceVersion: "0",
    creationTimestamp: "2026-01-01T08:00:00Z",
  },
  spec: { replicas: 2 },
};

interface Told {
  readonly ended: string[];
  readonly refused: string[];
  readonly publisher: string[];
  claimsLost: number;
}

/**
 * One life of the operator's process, on a cluster that outlives it. Its caches are the cluster, unless told otherwise.
 */
class Life {
  readonly running = new RunningOperations();
  readonly told: Told = { ended: [], refused: [], publisher: [], claimsLost: 0 };
  readonly cluster: FakeCluster;
  readonly clock: FakeClock;
  readonly stop = new AbortController();
  fence: () => void = () => undefined;
  cachedGrant: () => AccessGrant | undefined;
  cachedInvocation: () => OperationInvocation | undefined;
  policies: GateFacts["policies"] = [{ spec: { defaults: { "read-only": "auto" } } }];
  obstacle: string | undefined;
  awaited: string | undefined;
  limit: string | undefined;

  constructor(cluster: FakeCluster, clock: FakeClock) {
    this.cluster = cluster;
    this.clock = clock;
    this.cachedGrant = () => cluster.peek<AccessGrant>(accessGrants, "req-1", NAMESPACE);
    this.cachedInvocation = () => cluster.peek<OperationInvocation>(operationInvocations, "cmd-1", NAMESPACE);
  }

  async invocation(): Promise<unknown> {
    return reconcileInvocation(`${NAMESPACE}/cmd-1`, this.#ports(), this.#context());
  }

  async grant(): Promise<unknown> {
    const client = this.cluster.client();
    const ports = {
      clock: this.clock,
      fence: () => this.fence(),
      grant: () => this.cachedGrant(),
      invocation: () => this.cachedInvocation(),
      policy: () => mergePolicies(this.policies),
      commands: BUILT_IN,
      rights: { missingFor: () => [], obstacle: this.obstacle },
      acceptedOf: (deploymentId: string) => acceptedOf(deploymentId, DEPLOYMENTS, new Map()),
      enforcement: () => ({ kind: "stamped", since: new Date("2026-01-01T08:00:00Z") }) as const,
      writeStatus: (grant: AccessGrant, status: NonNullable<AccessGrant["status"]>, signal: AbortSignal) =>
        writeStatus(client, accessGrants, grant, status, signal),
      access: new Access(client, { grantsNamespace: NAMESPACE }),
      roleLending: { ofPlan: async () => undefined },
      linkReceipt: async () => "linked" as const,
      running: this.running,
      metrics: { transition: () => undefined },
      publisher: { grantBecame: (_: AccessGrant, state: string) => void this.told.publisher.push(state) },
    };
    return reconcileGrant(`${NAMESPACE}/req-1`, ports, this.#context());
  }

  #context(): { signal: AbortSignal; log: typeof silentLogger; reconcileId: string } {
    return { signal: this.stop.signal, log: silentLogger, reconcileId: `${Math.random()}` };
  }

  #ports(): InvocationPorts {
    const client = this.cluster.client();
    const { told, clock } = this;
    const publisher = { invocationBecame: (_: OperationInvocation, state: string) => void told.publisher.push(state) };
    const metrics = {
      operationEnded: (_: string, outcome: string) => void told.ended.push(outcome),
      operationStarted: () => undefined,
      operationLeft: () => undefined,
      refused: (reason: string) => void told.refused.push(reason),
      claimLost: () => {
        told.claimsLost += 1;
      },
    };
    const fence = (): void => this.fence();
    const writeInvocation: InvocationPorts["writeInvocation"] = (of, status, signal) =>
      writeStatus(client, operationInvocations, of, status, signal);
    const liveInvocation: InvocationPorts["liveInvocation"] = ({ metadata }, signal) =>
      client.get<OperationInvocation>(operationInvocations, metadata, signal);
    const world = (grant: AccessGrant | undefined): GateFacts => ({
      grant,
      policies: this.policies,
      deployments: DEPLOYMENTS,
    });
    const runner = new OperationRunner({
      access: new Access(client, { grantsNamespace: NAMESPACE }),
      clientFor: (token) => this.cluster.client(token),
      fence,
      redact: (text) => text,
      clock: impatient(clock),
      log: silentLogger,
      writeInvocation,
      liveInvocation,
      grantStands: (_, uid) => {
        const grant = this.cachedGrant();
        return grant?.metadata.uid === uid && grant.spec.revokedReason === undefined;
      },
      runningOperations: this.running,
      metrics,
      publisher,
      graceMs: 5_000,
    });
    return {
      clock,
      fence,
      invocation: () => this.cachedInvocation(),
      named: new Map(),
      commands: BUILT_IN,
      findOperation,
      cachedFacts: () => world(this.cachedGrant()),
      liveFacts: async (_, signal) =>
        world(await client.get<AccessGrant>(accessGrants, { name: "req-1", namespace: NAMESPACE }, signal)),
      liveInvocation,
      writeInvocation,
      writeGrant: (grant, status, signal) => writeStatus(client, accessGrants, grant, status, signal),
      graceMs: 5_000,
      obstacle: () => this.obstacle,
      limitReached: () => this.limit,
      roleLending: { missingBinding: async () => this.awaited },
      runner,
      metrics,
      publisher,
    };
  }
}

/** Short waits pass at once; limits of seconds do not come by themselves. */
function impatient(clock: FakeClock): Clock {
  return {
    monotonicMs: () => clock.monotonicMs(),
    wallNow: () => clock.wallNow(),
    after(delayMs, task) {
      if (delayMs > 2_000) return clock.after(delayMs, task);
      queueMicrotask(() => {
        clock.advance(delayMs);
        task();
      });
      return () => undefined;
    },
  };
}

function scene(grant = approvedGrant(), asked = invocation()): Life {
  const cluster = new FakeCluster();
  cluster.put(accessGrants, grant);
  cluster.put(operationInvocations, asked);
  cluster.put(resources.deployments, WEB);
  return new Life(cluster, new FakeClock("2026-01-01T10:30:00Z"));
}

const stateOf = ({ cluster }: Life): string | undefined =>
  cluster.peek<OperationInvocation>(operationInvocations, "cmd-1", NAMESPACE)?.status?.state;
const statusOf = ({ cluster }: Life): OperationInvocation["status"] =>
  cluster.peek<OperationInvocation>(operationInvocations, "cmd-1", NAMESPACE)?.status;
const replicasOf = ({ cluster }: Life): number | undefined =>
  cluster.peek<typeof WEB>(resources.deployments, "web", "shop")?.spec.replicas;
const lineOf = ({ cluster }: Life): object | undefined =>
  cluster.peek<AccessGrant>(accessGrants, "req-1", NAMESPACE)?.status?.commands?.[0];

test("the line is claimed, then the invocation, then it runs as the grant's account, then the result is stored", async () => {
  const life = scene();
  await life.invocation();
  expect(stateOf(life)).toBe("Succeeded");
  expect(replicasOf(life)).toBe(5);
  const { cluster, told } = life;
  const made = cluster.changes("operator");
  expect(made.slice(0, 2)).toEqual(["patch accessgrants/status", "patch operationinvocations/status"]);
  expect(made.slice(2, 4).sort()).toEqual(["create rolebindings", "create serviceaccounts"]);
  expect(made.slice(4).sort()).toEqual(
    ["delete rolebindings", "patch operationinvocations/status", "token serviceaccounts/token"].sort(),
  );
  expect(cluster.changes(`token-of-${grantAccount(GRANT_UID)}`)).toEqual(["patch deployments/scale"]);
  expect(lineOf(life)).toMatchObject({ state: "Starting", commandId: "cmd_1", digest: claimDigest(INVOCATION_UID) });
  expect(told).toMatchObject({ ended: ["success"], publisher: ["Running", "Succeeded"] });
  expect([life.running.size, life.clock.pending]).toEqual([0, 0]);
});

test("an automatic operation has an account of its own, and it goes with it", async () => {
  const life = scene(undefined, automatic());
  await life.invocation();
  expect(statusOf(life)).toMatchObject({ state: "Succeeded", result: { pods: [] } });
  expect(life.cluster.changes()).not.toContain("patch accessgrants/status");
  expect([...life.cluster.all(resources.serviceAccounts), ...life.cluster.all(resources.roleBindings)]).toEqual([]);
});

test("accounts and bindings are what the admission policies demand", async () => {
  const life = scene();
  const seen: unknown[] = [];
  life.cluster.fault = ({ verb }) => {
    if (verb === "token")
      seen.push(...life.cluster.all(resources.serviceAccounts), ...life.cluster.all(resources.roleBindings));
  };
  await life.invocation();
  const labels = { "sallyport.dev/grant-uid": GRANT_UID };
  const ownerReferences = [
    {
      apiVersion: "sallyport.dev/v1alpha1",
      kind: "AccessGrant",
      name: "req-1",
      uid: GRANT_UID,
      blockOwnerDeletion: false,
    },
  ];
  expect(seen.slice(0, 2)).toMatchObject([
    {
      metadata: { name: grantAccount(GRANT_UID), namespace: NAMESPACE, labels, ownerReferences },
      automountServiceAccountToken: false,
    },
    {
      metadata: { namespace: "shop", labels, annotations: { "sallyport.dev/expires-at": "2026-01-01T10:32:00Z" } },
      roleRef: { kind: "ClusterRole", name: "sallyport-op-kubernetes-scale" },
      subjects: [{ kind: "ServiceAccount", name: grantAccount(GRANT_UID), namespace: NAMESPACE }],
    },
  ]);
});

test("a refusal by an old cache is looked at again, live, before it is final", async () => {
  const life = scene();
  life.cachedGrant = () => undefined;
  await life.invocation();
  // The cache still does not know the grant, so that what it would run is stopped: absent there means deleted.
  expect(statusOf(life)).toMatchObject({
    state: "Failed",
    error: { message: "stopped before anything was changed: revoked" },
  });
  const other = scene(approvedGrant(), invocation({ params: { ...invocation().spec.params, replicas: 6 } }));
  await other.invocation();
  expect(other.told).toMatchObject({ refused: ["ParamsMismatch"], ended: ["held"], publisher: ["Held"] });
  expect(
    other.cluster.calls.filter(({ verb, resource }) => verb === "get" && resource === "accessgrants"),
  ).toHaveLength(1);
});

test("a refused invocation is final: whatever changes later, it is not run", async () => {
  const life = scene(approvedGrant({ revokedReason: "x" }));
  await life.invocation();
  life.cluster.put(accessGrants, approvedGrant());
  await life.invocation();
  expect([stateOf(life), replicasOf(life)]).toEqual(["Held", 2]);
  expect(statusOf(life)?.error?.code).toBe("COMMAND_HELD");
});

test("an approval that is not yet recorded is waited for, until the deadline", async () => {
  const { status: _, ...unseen } = approvedGrant();
  const life = scene(unseen, invocation({ deadline: "2026-01-01T10:31:00Z" }));
  expect(await life.invocation()).toEqual({ requeueAfterMs: 60_000 });
  expect([stateOf(life), await life.invocation()]).toEqual(["Pending", { requeueAfterMs: 60_000 }]);
  expect(life.cluster.changes()).toEqual(["patch operationinvocations/status"]);
  life.clock.advance(60_000);
  await life.invocation();
  expect([stateOf(life), life.told.ended]).toEqual(["Expired", ["expired"]]);
});

test("a cache that is behind its own claim loses the race and writes nothing wrong", async () => {
  const life = scene();
  const before = life.cachedInvocation();
  await life.invocation();
  life.cachedInvocation = () => before;
  expect(await life.invocation()).toEqual({ requeueAfterMs: 20 });
  expect([stateOf(life), life.told.ended, life.told.claimsLost]).toEqual(["Succeeded", ["success"], 1]);
});

test("an answer that is lost after the claim was stored does not make the operation Unknown", async () => {
  const life = scene();
  let lost = 0;
  life.cluster.fault = ({ verb, resource }, when) => {
    if (verb !== "patch" || resource !== "operationinvocations/status" || when !== "after" || lost > 0) return;
    lost += 1;
    throw refusal(0, "NetworkError");
  };
  await life.invocation();
  expect([stateOf(life), replicasOf(life)]).toEqual(["Succeeded", 5]);
});

test("a claim that is on its way when the process is told to stop is kept, and what it claimed is run", async () => {
  const life = scene();
  life.cluster.fault = ({ verb, resource }, when) => {
    if (verb === "patch" && resource === "operationinvocations/status" && when === "after") {
      life.stop.abort(new Error("SIGTERM"));
    }
  };
  await life.invocation();
  expect([stateOf(life), replicasOf(life)]).toEqual(["Succeeded", 5]);
});

test("an invocation of a previous process that is found running is Unknown, and never run", async () => {
  const life = scene(approvedGrant(), invocation({}, { state: "Running", startedAt: "2026-01-01T10:20:00Z" }));
  await life.invocation();
  expect(statusOf(life)).toMatchObject({ state: "Unknown", error: { code: "OUTCOME_UNKNOWN" } });
  await life.invocation();
  expect([replicasOf(life), life.told.ended]).toEqual([2, ["unknown"]]);
});

test("a command whose binding no approver has made waits, uses up no line, and runs when it is there", async () => {
  const life = scene(approvedGrant(), invocation({ deadline: "2026-01-01T10:31:00Z" }));
  life.awaited = "waits for a binding that an approver makes";
  expect(await life.invocation()).toEqual({ requeueAfterMs: 3_000 });
  expect(statusOf(life)).toMatchObject({
    state: "Pending",
    conditions: [{ type: "Authorized", status: "Unknown", reason: "AwaitingBinding", message: life.awaited }, {}],
  });
  expect(life.cluster.changes()).toEqual(["patch operationinvocations/status"]);
  life.awaited = undefined;
  await life.invocation();
  expect([stateOf(life), replicasOf(life)]).toEqual(["Succeeded", 5]);
});

test("a command whose binding never comes expires with its deadline", async () => {
  const life = scene(approvedGrant(), invocation({ deadline: "2026-01-01T10:30:01Z" }));
  life.awaited = "waits";
  expect(await life.invocation()).toEqual({ requeueAfterMs: 1_000 });
  life.clock.advance(1_000);
  await life.invocation();
  expect([stateOf(life), life.told.ended]).toEqual(["Expired", ["expired"]]);
});

test("what could not run for a right of the operator's own waits, uses up no line, and runs when the right is back", async () => {
  const life = scene();
  life.obstacle = "the operator may not list operationpolicies in sallyport-grants";
  expect(await life.invocation()).toEqual({ requeueAfterMs: 60_000 });
  expect(statusOf(life)).toMatchObject({
    state: "Pending",
    conditions: expect.arrayContaining([
      expect.objectContaining({ type: "Authorized", status: "Unknown", reason: "RuleMissing", message: life.obstacle }),
    ]),
  });
  expect(life.cachedGrant()?.status?.commands).toBeUndefined();
  expect(replicasOf(life)).toBe(2);
  life.obstacle = undefined;
  await life.invocation();
  expect([stateOf(life), replicasOf(life)]).toEqual(["Succeeded", 5]);
});

test("without leadership nothing is written", async () => {
  const life = scene();
  life.fence = () => {
    throw new LeadershipLostError("gone");
  };
  await expect(life.invocation()).rejects.toThrow("gone");
  expect(life.cluster.changes()).toEqual([]);
});

describe("what the request's fate makes of the outcome", () => {
  const failing = (
    status: number,
    reason: string,
    when: "before" | "after",
    times = Number.POSITIVE_INFINITY,
  ): Life => {
    const life = scene();
    let left = times;
    life.cluster.fault = ({ verb, resource }, moment) => {
      if (verb !== "patch" || resource !== "deployments/scale" || moment !== when || left <= 0) return;
      left -= 1;
      throw refusal(status, reason);
    };
    return life;
  };

  test("no answer: Unknown, and it is not sent again", async () => {
    for (const when of ["before", "after"] as const) {
      const life = failing(0, "NetworkError", when);
      await life.invocation();
      expect(statusOf(life)).toMatchObject({ state: "Unknown", error: { code: "OUTCOME_UNKNOWN" } });
      expect(life.cluster.changes(`token-of-${grantAccount(GRANT_UID)}`).length).toBeLessThanOrEqual(1);
    }
  });

  test("a server's error: Unknown too", async () => {
    const life = failing(500, "InternalError", "after");
    await life.invocation();
    expect(stateOf(life)).toBe("Unknown");
  });

  test("a refusal: Failed, certainly without effect", async () => {
    const life = failing(422, "Invalid", "before");
    await life.invocation();
    expect(statusOf(life)).toMatchObject({
      state: "Failed",
      error: { code: "HANDLER_ERROR", message: "refused: Invalid" },
    });
    expect(life.told.ended).toEqual(["failed"]);
  });

  test("a right that is not known yet: tried again, for two seconds", async () => {
    const life = failing(403, "Forbidden", "before", 3);
    await life.invocation();
    expect([stateOf(life), replicasOf(life)]).toEqual(["Succeeded", 5]);
    const never = failing(403, "Forbidden", "before");
    await never.invocation();
    expect(statusOf(never)).toMatchObject({ state: "Failed", error: { code: "HANDLER_ERROR" } });
    expect(never.clock.monotonicMs()).toBeLessThanOrEqual(2_100);
  });

  test.each([401, 403])(
    "an API server that has just started and answers all %i: waited for, and told the result",
    async (status) => {
      const life = scene();
      let left = 4;
      life.cluster.fault = ({ verb, resource, as }, when) => {
        const isOurs = resource === "serviceaccounts" || (resource.endsWith("/status") && stateOf(life) === "Running");
        if (as !== "operator" || verb === "delete" || !isOurs || when !== "before" || left <= 0) return;
        left -= 1;
        // Two for the account, two for the result.
        if (left !== 1) throw refusal(status, "Forbidden");
      };
      await life.invocation();
      expect([stateOf(life), replicasOf(life), left]).toEqual(["Succeeded", 5, 0]);
      expect(statusOf(life)?.result).toMatchObject({ from: 2, to: 5 });
    },
  );

  test("an account that may never be made: Failed, after ten seconds", async () => {
    const life = scene();
    life.cluster.fault = ({ verb, resource }) => {
      if (verb === "create" && resource === "serviceaccounts") throw refusal(403, "Forbidden");
    };
    await life.invocation();
    expect(statusOf(life)).toMatchObject({ state: "Failed", error: { code: "HANDLER_ERROR" } });
    expect(life.clock.monotonicMs()).toBeLessThanOrEqual(10_100);
  });

  test("an API server that is away before anything was sent: waited for", async () => {
    const life = scene();
    let left = 3;
    life.cluster.fault = ({ verb }, when) => {
      if (verb !== "token" || when !== "before" || left <= 0) return;
      left -= 1;
      throw refusal(503, "ServiceUnavailable");
    };
    await life.invocation();
    expect([stateOf(life), replicasOf(life)]).toEqual(["Succeeded", 5]);
  });
});

/** Hangs the call that `matches`, until its signal aborts; the fake's calls look at it when they come back. */
function hanging(life: Life, verb: string, then: () => void): void {
  life.cluster.fault = (call, when) => {
    if (call.verb !== verb || call.as === "operator" || when !== "after") return;
    then();
  };
}

test("what older commands leave no room for waits unclaimed, and runs when they are done", async () => {
  const life = scene();
  life.limit = "older commands go first: at most 50 of this deployment may be open";
  await life.invocation();
  expect(statusOf(life)).toMatchObject({
    state: "Pending",
    conditions: [{ type: "Authorized", status: "Unknown", reason: "TooManyOpen", message: life.limit }, {}],
  });
  expect(life.cluster.changes()).not.toContain("patch accessgrants/status");
  life.limit = undefined;
  await life.invocation();
  expect(stateOf(life)).toBe("Succeeded");
});

test("at the time limit an operation that has sent nothing fails as a timeout; one that has is Unknown", async () => {
  const reading = scene(undefined, automatic());
  hanging(reading, "list", () => reading.clock.advance(30_000));
  await reading.invocation();
  expect(statusOf(reading)).toMatchObject({ state: "Failed", error: { code: "HANDLER_TIMEOUT" } });
  expect(reading.told.ended).toEqual(["timeout"]);
  const writing = scene();
  hanging(writing, "patch", () => writing.clock.advance(60_000));
  await writing.invocation();
  expect([stateOf(writing), replicasOf(writing)]).toEqual(["Unknown", 5]);
});

test("a revocation, and the end of the window, stop what runs", async () => {
  const revoked = scene();
  hanging(revoked, "get", () => revoked.running.stop(GRANT_UID, "revoked"));
  await revoked.invocation();
  expect([statusOf(revoked)?.error?.message, replicasOf(revoked)]).toEqual([
    "stopped before anything was changed: revoked",
    2,
  ]);
  const over = scene(approvedGrant({}, { approvedUntil: "2026-01-01T10:30:20Z" }));
  hanging(over, "get", () => over.clock.advance(20_000));
  await over.invocation();
  expect([statusOf(over)?.error?.message, replicasOf(over)]).toEqual([
    "stopped before anything was changed: window closed",
    2,
  ]);
});

test("a shutdown lets an operation go on for its grace, then stops it; lost leadership stops it at once", async () => {
  const polite = scene();
  hanging(polite, "get", () => polite.stop.abort(new Error("SIGTERM")));
  await polite.invocation();
  expect([stateOf(polite), replicasOf(polite)]).toEqual(["Succeeded", 5]);
  const slow = scene();
  hanging(slow, "get", () => {
    slow.stop.abort(new Error("SIGTERM"));
    slow.clock.advance(5_000);
  });
  await slow.invocation();
  expect(statusOf(slow)).toMatchObject({
    state: "Failed",
    error: { message: "stopped before anything was changed: shutting down" },
  });
  const lost = scene();
  hanging(lost, "get", () => {
    lost.fence = () => {
      throw new LeadershipLostError("gone");
    };
    lost.stop.abort(new LeadershipLostError("gone"));
  });
  await expect(lost.invocation()).rejects.toThrow("gone");
  expect([stateOf(lost), replicasOf(lost)]).toEqual(["Running", 2]);
});

test("a process that was asleep while another took over sends nothing when it wakes", async () => {
  const life = scene();
  hanging(life, "get", () => {
    life.fence = () => {
      throw new LeadershipLostError("gone");
    };
  });
  await expect(life.invocation()).rejects.toThrow("gone");
  expect([stateOf(life), replicasOf(life)]).toEqual(["Running", 2]);
});

test("a result that the API server finds too long is stored without its text", async () => {
  const life = scene();
  let writes = 0;
  life.cluster.fault = ({ verb, resource }, when) => {
    if (verb !== "patch" || resource !== "operationinvocations/status" || when !== "before") return;
    writes += 1;
    if (writes === 2) throw refusal(422, "Invalid");
  };
  await life.invocation();
  expect(statusOf(life)).toMatchObject({ state: "Succeeded", result: { truncated: true } });
});

class Crash extends Error {}

/** Runs both reconcilers until nothing changes any more, as the controllers would. */
async function settle(life: Life): Promise<void> {
  for (let round = 0; round < 6; round += 1) {
    await life.invocation();
    await life.grant();
  }
}

test("wherever the process dies, nothing runs twice, and both sides reach an end", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ calls: fc.nat(24), when: fc.constantFrom("before" as const, "after" as const) }), {
        maxLength: 3,
      }),
      async (crashes) => {
        const first = scene();
        let life = first;
        for (const { calls, when } of crashes) {
          let left = calls;
          life.cluster.fault = (_, moment) => {
            if (moment !== when) return;
            left -= 1;
            // A dead process makes no further call: all of them fail from here on.
            if (left < 0) {
              life.fence = () => {
                throw new Crash();
              };
              throw new Crash();
            }
          };
          await settle(life).catch(() => undefined);
          life = new Life(first.cluster, first.clock);
        }
        first.cluster.fault = () => undefined;
        await settle(life);
        const runs = first.cluster.changes(`token-of-${grantAccount(GRANT_UID)}`).length;
        expect(runs).toBeLessThanOrEqual(1);
        const state = stateOf(life);
        expect(["Succeeded", "Unknown", "Failed"]).toContain(state);
        if (state === "Succeeded") expect([runs, replicasOf(life)]).toEqual([1, 5]);
        if (state === "Failed") expect([runs, replicasOf(life)]).toEqual([0, 2]);
        expect(lineOf(life)).toMatchObject({ state, commandId: "cmd_1" });
        const grant = life.cluster.peek<AccessGrant>(accessGrants, "req-1", NAMESPACE);
        expect(grant?.status?.state).toBe("Completed");
        expect([...life.cluster.all(resources.serviceAccounts), ...life.cluster.all(resources.roleBindings)]).toEqual(
          [],
        );
      },
    ),
    { numRuns: runs(400) },
  );
});

const NODE = {
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "node-1", uid: "uid-of-node", resourceVersion: "0", creationTimestamp: "2026-01-01T08:00:00Z" },
  spec: {},
};

test("an operation of cluster scope is lent by a ClusterRoleBinding for its run, and nothing is left of it", async () => {
  const line = { command: "kubernetes/cordon-node", params: { name: "node-1" }, summary: "s" };
  const life = scene(
    approvedGrant({ commands: [line] }),
    invocation({ operation: "cordon-node", params: line.params }),
  );
  life.policies = [
    { spec: { clusterOperations: [{ operation: "kubernetes/cordon-node", deployments: [DEPLOYMENT_ID] }] } },
  ];
  const { cluster } = life;
  cluster.put(resources.nodes, NODE);
  let lent: object | undefined;
  cluster.fault = ({ resource, verb }, when) => {
    if (resource === "nodes" && verb === "patch" && when === "before")
      [lent] = cluster.all(resources.clusterRoleBindings);
  };
  await life.invocation();
  expect(stateOf(life)).toBe("Succeeded");
  expect(cluster.peek(resources.nodes, "node-1")).toMatchObject({ spec: { unschedulable: true } });
  expect(lent).toMatchObject({
    kind: "ClusterRoleBinding",
    roleRef: { kind: "ClusterRole", name: "sallyport-op-kubernetes-cordon-node" },
    subjects: [{ kind: "ServiceAccount", name: grantAccount(GRANT_UID), namespace: NAMESPACE }],
  });
  expect(cluster.changes(`token-of-${grantAccount(GRANT_UID)}`)).toEqual(["patch nodes"]);
  expect(cluster.all(resources.clusterRoleBindings)).toEqual([]);
  expect(cluster.changes().filter((change) => change.endsWith(" rolebindings"))).toEqual([]);
});

test("at its end a grant with an operation of cluster scope takes back what was lent in the whole cluster", async () => {
  const line = { command: "kubernetes/cordon-node", params: { name: "node-1" }, summary: "s" };
  const life = scene(approvedGrant({ commands: [line], revokedReason: "enough" }));
  const account = grantAccount(GRANT_UID);
  life.cluster.put(resources.clusterRoleBindings, {
    ...NODE,
    kind: "ClusterRoleBinding",
    metadata: { ...NODE.metadata, name: "lent" },
    roleRef: { name: "sallyport-op-kubernetes-cordon-node" },
    subjects: [{ kind: "ServiceAccount", name: account, namespace: NAMESPACE }],
  } as typeof NODE);
  await life.grant();
  expect(life.cluster.all(resources.clusterRoleBindings)).toEqual([]);
});
