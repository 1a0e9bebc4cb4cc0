import { beforeEach, describe, expect, test } from "vitest";
import { ApiError } from "../../api-client/api-error.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import type { DeploymentState, DeploymentStatus } from "../../contract/deployments/deployment-state.ts";
import type { ManagedDeployment, ManagedDeploymentStatus } from "../../crds/kinds/managed-deployment.ts";
import type { RequiredRight } from "../../crds/manifests/roles/required-rights.ts";
import { ApiError as KubeError } from "../../kube/client/api-error.ts";
import { Snapshot } from "../kernel/snapshot.ts";
import type { Report } from "../observe/resource-reports.ts";
import { type Seen, summaryOf, type WorkloadsSummary } from "../observe/summary.ts";
import type { Trouble } from "../platform-link/platform-trouble.ts";
import type { Installed } from "../releases/installed.ts";
import { NOTHING_WANTED } from "../releases/release-record.ts";
import { context, DEPLOYMENT } from "../testing/sample.ts";
import { type DeploymentPorts, Deployments } from "./deployments.ts";
import { Leases, type LeasesOptions } from "./leases.ts";
import type { ListedDeployment } from "./listed-deployment.ts";

const listed: ListedDeployment = {
  id: DEPLOYMENT,
  name: "one",
  projectId: "prj_1",
  status: "pending",
  platform: "kubernetes",
  model: "pull",
  stackResources: 0,
  desiredReleaseId: null,
  currentReleaseId: null,
  wanted: NOTHING_WANTED,
  tellsHealth: true,
};

class World {
  readonly clock = new FakeClock("2026-01-01T00:00:00Z");
  readonly done: string[] = [];
  readonly snapshot = new Snapshot<ListedDeployment>(10, () => undefined);
  managed: ManagedDeployment | undefined;
  /** What has this deployment's object name, though it is another's. */
  holder: ManagedDeployment | undefined;
  refuseWith: ApiError | undefined;
  /** What the platform answers that it has, other than what was reported. */
  knows: Partial<DeploymentState> = {};
  /** While a report is on its way. */
  during: () => void = () => undefined;
  /** Calls that go well before it refuses. */
  takes = 0;
  renewed = true;
  readonly deployments: Deployments;
  readonly bodies: Parameters<DeploymentPorts["platform"]["reconcile"]>[0]["body"][] = [];
  readonly news: string[] = [];
  waiting: string[] = [];

  constructor(changes: Partial<ListedDeployment> = {}, list: "read" | "unread" = "read", named = ["shop"]) {
    if (list === "read") this.snapshot.replace("all", [{ ...listed, ...changes }]);
    const { clock, snapshot } = this;
    const routes = {
      acquire: async () => {
        this.done.push("acquire");
        return { deployments: [{ deploymentId: DEPLOYMENT }] };
      },
      renew: async () => {
        this.done.push("renew");
        return { leases: [{ deploymentId: DEPLOYMENT, renewed: this.renewed }] };
      },
      release: async () => this.done.push("release"),
    };
    const leases = new Leases({
      platform: routes as unknown as LeasesOptions["platform"],
      clock,
      changed: () => undefined,
    });
    this.deployments = new Deployments({
      snapshot,
      leases,
      releases: undefined,
      ports: this.#ports(),
      places: {
        named: new Map(named.length === 0 ? [] : [[DEPLOYMENT, named]]),
        opened: ["shop", "jobs"],
        grantsNamespace: "sallyport-grants",
      },
      maxWaiting: 2,
      reportIntervalMs: 5_000,
      statusIntervalMs: 15_000,
      version: "1",
      clock,
      random: () => 0.5,
      metrics: { resourceReport: () => undefined },
    });
  }

  run() {
    return this.deployments.reconcile(DEPLOYMENT, context);
  }

  /** As the customer does with kubectl. */
  answer(acceptedNamespaces: string[]): void {
    if (this.managed === undefined) throw new Error("there is nothing to answer");
    this.managed = { ...this.managed, spec: { ...this.managed.spec, acceptedNamespaces } };
  }

  said(type: string) {
    return this.managed?.status?.conditions?.find((each) => each.type === type);
  }

  condition(): string {
    const condition = this.said("Reported");
    return `${this.managed?.status?.state} ${condition?.type}=${condition?.status}/${condition?.reason}`;
  }

  /** Only reports that tell of some are refused. */
  refusesResources = false;
  missing: readonly RequiredRight[] = [];
  machinePool: boolean | undefined;
  statusRefused = false;
  statusWrites = 0;
  trouble: Trouble | "unknown" | undefined = "unknown";
  summary: WorkloadsSummary | undefined;
  found: Pick<Report, "mode" | "isWorse"> = { mode: "delta", isWorse: false };
  /** In how many parts a report comes; each names in its scope which report it is of. */
  installed: Installed | undefined;
  parts = 1;
  looks = 0;
  exceeded = 0;

  #ports(): DeploymentPorts {
    return {
      missing: () => this.missing,
      offered: () => ({ debugModes: [], machinePool: this.machinePool, releases: false }),
      trouble: () => this.trouble,
      workloads: () => this.summary,
      installed: () => this.installed,
      managed: () => this.managed,
      holder: () => this.holder ?? this.managed,
      unanswered: () => this.waiting,
      remove: async () => {
        this.done.push("remove");
        this.managed = undefined;
      },
      events: { record: ({ reason, note }) => void this.news.push(`${reason}: ${note}`) },
      create: async (spec) => {
        this.done.push("create");
        const metadata = {
          name: "d",
          uid: "u",
          resourceVersion: "1",
          generation: 1,
          creationTimestamp: "2026-01-01T00:00:00Z",
        };
        this.managed = { apiVersion: "sallyport.dev/v1alpha1", kind: "ManagedDeployment", metadata, spec };
        return this.managed;
      },
      applyStatus: async (managed, status: ManagedDeploymentStatus) => {
        this.statusWrites += 1;
        if (this.statusRefused) throw new KubeError("forbidden", { status: 403, reason: "Forbidden" });
        this.managed = { ...managed, status };
      },
      resources: {
        next: async (_, namespaces) => {
          this.looks += 1;
          const names = this.parts === 1 ? [""] : Array.from({ length: this.parts }, (_each, at) => ` ${at + 1}`);
          const parts = names.map((name) => ({
            ...{ resourceHeartbeats: [], removedHeartbeats: [], changes: [], scopes: [] },
            observedInventoryBatches: namespaces.map((each) => batchOf(`${each}${name}`)),
          }));
          return { ...this.found, parts };
        },
        acknowledged: () => undefined,
        exceeded: () => {
          this.exceeded += 1;
        },
        withoutRefused: (_, parts, issues) => (Array.isArray(issues) ? parts.slice(1) : undefined),
        changed: () => undefined,
        forget: () => undefined,
      },
      relist: () => void this.done.push("relist"),
      platform: {
        reconcile: async ({ body }) => {
          const isRefused = !this.refusesResources || body.observedInventoryBatches !== undefined;
          if (this.refuseWith !== undefined && isRefused && this.takes-- <= 0) throw this.refuseWith;
          this.bodies.push(body);
          this.during();
          this.done.push(`report ${body.state.status}${body.session === undefined ? "" : " under lease"}`);
          return {
            success: true,
            current: { ...body.state, status: body.state.status as DeploymentStatus, ...this.knows },
          };
        },
      },
    };
  }
}

const changed = { namespace: "shop", kind: "Deployment", name: "api" } as const;

/** Enough of a batch to see whose it is. */
const batchOf = (namespace: string) => ({ inventoryScope: namespace }) as never;

let world: World;
beforeEach(() => {
  world = new World();
});
const refusal = (code: string, status = 409): ApiError => new ApiError(code, code, { status, retryable: false });

describe("a deployment", () => {
  test("whose object name another one has is told on that object, once, and not made", async () => {
    await world.run();
    const { managed } = world;
    if (managed === undefined) throw new Error("not made");
    world.managed = undefined;
    world.holder = { ...managed, spec: { ...managed.spec, deploymentId: "dep_OTHER" } };
    world.done.length = 0;
    world.news.length = 0;
    await world.run();
    await world.run();
    expect(world.done).toEqual([]);
    expect(world.news).toEqual([
      `NameTaken: deployment ${DEPLOYMENT} is not shown and not served: its object would have the name of this one`,
    ]);
  });

  test("is shown, leased, confirmed and reported in this order", async () => {
    await world.run();
    expect(await world.run()).toEqual({ requeueAfterMs: 60_000 });
    expect(world.done).toEqual(["create", "acquire", "renew", "report running under lease"]);
    expect(world.snapshot.get(DEPLOYMENT)?.status).toBe("running");
    expect(world.condition()).toBe("Serving Reported=True/Acknowledged");
  });

  test("that pushes takes its setup step by step", async () => {
    world = new World({ model: "push" });
    await world.run();
    await world.run();
    expect(world.done.slice(3)).toEqual([
      "report initial-setup under lease",
      "report provisioning under lease",
      "report running under lease",
    ]);
  });

  test("whose setup is told while a release is promoted learns of that by the answer, and tells at once that none installs it", async () => {
    world = new World({ status: "pending" });
    world.knows = { status: "pending", targetRelease: { releaseId: "rel_2", version: "2" } };
    await world.run();
    await world.run();
    expect(world.done.slice(3)).toEqual(["report running under lease", "report pending under lease"]);
    const [early, told] = world.bodies;
    // From before the release was promoted: the platform takes it for no end of that release's setup.
    expect([early?.operationId, early?.state.error]).toEqual([null, undefined]);
    expect(told?.state.error).toMatchObject({ code: "RUNNER_DISABLED", message: expect.stringContaining("rel_2") });
  });

  test("that a list has changed while a report was on its way stays as the list has it, and is listed again", async () => {
    await world.run();
    world.during = () => void world.snapshot.replace("all", [{ ...listed, status: "update-pending" }]);
    await world.run();
    expect(world.done).toContain("relist");
    expect(world.snapshot.get(DEPLOYMENT)?.status).toBe("update-pending");
    world.done.length = 0;
    world.during = () => void world.snapshot.replace("all", [{ ...listed, status: "running" }]);
    world.snapshot.replace("all", [{ ...listed, status: "running" }]);
    world.clock.advance(60_000);
    await world.run();
    expect(world.done).toEqual(["renew", "report running under lease"]);
  });

  test("is renewed and reported every minute", async () => {
    await world.run();
    await world.run();
    world.done.length = 0;
    world.clock.advance(60_000);
    await world.run();
    expect(world.done).toEqual(["renew", "report running under lease"]);
  });

  test("is looked at a second after its workloads changed, and reported five after the last report", async () => {
    await world.run();
    await world.run();
    world.done.length = 0;
    expect(world.deployments.workloadChanged(changed)).toEqual([DEPLOYMENT]);
    expect(await world.run()).toEqual({ requeueAfterMs: 1_000 });
    // A burst of changes is one look.
    expect(world.deployments.workloadChanged(changed)).toEqual([]);
    world.clock.advance(1_000);
    expect([await world.run(), world.done]).toEqual([{ requeueAfterMs: 4_000 }, []]);
    world.clock.advance(4_000);
    await world.run();
    expect(world.done).toEqual(["report running under lease"]);
  });

  test("is reported at once when a workload got worse, ten times a minute", async () => {
    await world.run();
    await world.run();
    world.done.length = 0;
    world.found = { mode: "delta", isWorse: true };
    for (let turn = 0; turn < 12; turn += 1) {
      world.deployments.workloadChanged(changed);
      world.clock.advance(1_000);
      await world.run();
    }
    expect(world.done).toEqual(Array(10).fill("report running under lease"));
  });

  describe("whose workloads change", () => {
    const health = (each: Seen["health"]): void => {
      const web = { namespace: "shop", kind: "Deployment", name: "web" } as const;
      const seen: Seen = { ...web, health: each, message: undefined, member: undefined };
      world.summary = summaryOf([seen], [], world.clock.wallNow().toISOString());
    };
    const report = async (each: Seen["health"], afterMs: number) => {
      health(each);
      world.deployments.workloadChanged(changed);
      world.clock.advance(afterMs);
      return await world.run();
    };
    const shown = (): string | undefined => world.managed?.status?.workloads?.summary;
    beforeEach(async () => {
      await world.run();
      await world.run();
      await report("healthy", 60_000);
      world.found = { mode: "delta", isWorse: true };
      world.statusWrites = 0;
    });

    test("is shown at once, then what it came to 15 s later, without another change", async () => {
      await report("unhealthy", 15_000);
      expect([shown(), world.statusWrites]).toEqual(["0/1", 1]);
      await report("healthy", 5_000);
      expect(await report("unhealthy", 1_000)).toEqual({ requeueAfterMs: expect.any(Number) });
      expect(await report("healthy", 1_000)).toEqual({ requeueAfterMs: 8_000 });
      expect([shown(), world.statusWrites]).toEqual(["0/1", 1]);
      world.clock.advance(8_000);
      await world.run();
      expect([shown(), world.statusWrites]).toEqual(["1/1", 2]);
      expect(world.managed?.status?.lastReportedAt).toBe("2026-01-01T00:01:22.000Z");
    });

    test("is written twice in half a minute, however often it changes", async () => {
      for (let second = 0; second < 30; second += 1) await report(second % 2 === 0 ? "unhealthy" : "healthy", 1_000);
      expect(world.statusWrites).toBe(2);
    });

    test("is not written for reports that change nothing that is shown, but its times are once a minute", async () => {
      for (let second = 0; second < 44; second += 1) await report("healthy", 1_000);
      expect(world.statusWrites).toBe(0);
      await report("healthy", 10_000);
      expect(world.statusWrites).toBe(1);
    });
  });

  test("shows what a release has installed, and which object, field and manager are not as it was released", async () => {
    const world = new World();
    const status = () => world.managed?.status;
    const asReleased = () => status()?.conditions?.find(({ type }) => type === "AsReleased");
    await world.run();
    expect([status()?.release, asReleased()]).toEqual([undefined, undefined]);
    const brought = { appliedAt: "2026-01-01T12:00:00Z", rollout: "duop-1", namespaces: ["shop"] };
    const release = { releaseId: "rel_1", version: "1.4.0", ...brought };
    const notCompared = "could not be looked at: ConfigMap/shop/web";
    const ref = "Deployment.apps/shop/web";
    world.installed = {
      ...release,
      drift: [{ ref, field: ".spec.replicas", manager: "argocd" }, { ref }],
      notCompared,
    };
    await world.run();
    expect(asReleased()).toMatchObject({ status: "False", reason: "Drifted" });
    expect(asReleased()?.message).toBe(`${ref} .spec.replicas is argocd's; ${ref} is missing`);
    expect(status()?.release).toMatchObject({
      id: "rel_1",
      version: "1.4.0",
      drift: [expect.any(String), `${ref} is missing`],
    });
    world.installed = { ...release, drift: [], notCompared: undefined };
    await world.run();
    expect(asReleased()).toMatchObject({ status: "True", reason: "NoDrift" });
    world.installed = { ...release, drift: [], notCompared };
    await world.run();
    expect(asReleased()).toMatchObject({ status: "Unknown", reason: "NotCompared", message: notCompared });
    world.installed = undefined;
    world.clock.advance(60_000);
    await world.run();
    expect([status()?.release, asReleased()]).toEqual([undefined, undefined]);
  });

  test("shows how its workloads are, and says once when they get sick and when they are well again", async () => {
    const seen = (health: Seen["health"]): Seen[] => [
      {
        ...{ namespace: "shop", kind: "Deployment", name: "web", health: "healthy" },
        ...{ message: undefined, member: undefined },
      },
      {
        namespace: "shop",
        kind: "StatefulSet",
        name: "db",
        member: undefined,
        health,
        message: health === "healthy" ? undefined : "0 of 1 ready",
      },
    ];
    const look = async (health: Seen["health"], state: "read" | "unreadable" = "read"): Promise<void> => {
      const lists = (["Deployment", "Pod", "PersistentVolumeClaim"] as const).map((kind) => ({
        namespace: "shop",
        kind,
        state,
      }));
      world.summary = summaryOf(seen(health), lists, world.clock.wallNow().toISOString());
      world.clock.advance(66_000);
      await world.run();
    };
    await world.run();
    await look("healthy");
    expect(world.managed?.status?.workloads).toMatchObject({ total: 2, healthy: 2, summary: "2/2", attention: [] });
    expect([world.said("Observed")?.status, world.said("WorkloadsHealthy")?.status]).toEqual(["True", "True"]);
    await look("unhealthy");
    await look("unhealthy");
    expect(world.managed?.status?.workloads).toMatchObject({ summary: "1/2", attention: ["statefulset/shop/db"] });
    const message = "1 of 2 workloads are healthy, 1 unhealthy, 0 degraded. statefulset/shop/db: 0 of 1 ready";
    expect(world.said("WorkloadsHealthy")).toMatchObject({ status: "False", reason: "SomeUnhealthy", message });
    await look("unknown", "unreadable");
    expect(world.said("WorkloadsHealthy")).toMatchObject({ status: "Unknown", reason: "SomeUnknown" });
    expect(world.said("Observed")).toMatchObject({ status: "False", reason: "Forbidden" });
    expect(world.managed?.status?.collection).toHaveLength(3);
    await look("unhealthy");
    await look("healthy");
    expect(world.news.filter((line) => line.startsWith("Workload")).map((line) => line.split(":")[0])).toEqual([
      "WorkloadUnhealthy",
      "WorkloadUnhealthy",
      "WorkloadRecovered",
    ]);
  });

  test("whose workloads are as they were is not reported before its time", async () => {
    await world.run();
    await world.run();
    world.done.length = 0;
    world.found = { mode: "confirm", isWorse: false };
    world.deployments.workloadChanged(changed);
    world.clock.advance(6_000);
    expect([await world.run(), world.done]).toEqual([{ requeueAfterMs: 54_000 }, []]);
  });

  test("whose lease went to another session is reported without one, and asked for again a minute later", async () => {
    await world.run();
    await world.run();
    world.done.length = 0;
    world.clock.advance(60_000);
    world.renewed = false;
    await world.run();
    expect(world.done).toEqual(["renew", "report running"]);
    world.renewed = true;
    world.clock.advance(60_000);
    await world.run();
    expect(world.done.slice(2)).toEqual(["acquire", "renew", "report running under lease"]);
  });

  test.each([
    ["LEASE_LOST", [], "the platform refused the last report"],
    ["DEPLOYMENT_LOCKED", [], expect.stringContaining("the lease ends within five minutes")],
    ["INVALID_STATE_TRANSITION", ["relist"], "the platform refused the last report"],
  ])("whose report is refused with %s goes on, and says what is waited for", async (code, more, message) => {
    await world.run();
    world.refuseWith = refusal(code);
    await world.run();
    expect(world.done).toEqual(["create", "acquire", "renew", ...more]);
    expect(world.condition()).toBe("Serving Reported=False/Refused");
    expect(world.said("Reported")).toMatchObject({ message });
  });

  test("whose report has rows that the platform refuses is reported without them; a refusal of all else is a failure", async () => {
    await world.run();
    world.parts = 2;
    const invalid = (context: Record<string, unknown>) =>
      new ApiError("VALIDATION_ERROR", "no", { status: 400, retryable: false, context });
    world.refuseWith = invalid({ issues: [{ path: "body.resourceHeartbeats.0" }] });
    await world.run();
    expect([world.bodies.length, world.condition()]).toEqual([0, "Serving Reported=True/Acknowledged"]);
    world.refuseWith = invalid({});
    world.deployments.lookNow();
    world.clock.advance(60_000);
    await expect(world.run()).rejects.toThrow("no");
  });

  test("whose heartbeats are off tells its state, and nothing of its workloads", async () => {
    const quiet = new World({ tellsHealth: false });
    quiet.parts = 3;
    await quiet.run();
    quiet.answer(["shop"]);
    await quiet.run();
    await quiet.run();
    expect(quiet.looks).toBeGreaterThan(0);
    expect(quiet.bodies.length).toBeGreaterThan(0);
    for (const body of quiet.bodies) {
      expect(Object.keys(body)).not.toEqual(expect.arrayContaining(["observedInventoryBatches"]));
      expect(body.resourceLevel).toBeUndefined();
    }
  });

  test("whose report is lost on the way is reported again at once", async () => {
    await world.run();
    world.refuseWith = new ApiError("NETWORK_ERROR", "away", { status: 0, retryable: true });
    await expect(world.run()).rejects.toThrow("away");
    world.refuseWith = undefined;
    await world.run();
    expect(world.done.at(-1)).toBe("report running under lease");
  });

  describe("that has told as much as it may", () => {
    const refused = new ApiError("RATE_LIMITED", "told enough", {
      ...{ status: 429, retryable: true, retryAfterMs: 90_000 },
      context: { budget: "deployment-told-bytes" },
    });
    const told = (): string[] =>
      world.bodies.flatMap(({ observedInventoryBatches = [] }) =>
        observedInventoryBatches.map(({ inventoryScope }) => inventoryScope),
      );
    const refuse = async (mode: Report["mode"]): Promise<void> => {
      world.found = { mode, isWorse: true };
      [world.parts, world.takes, world.refuseWith] = [3, 1, refused];
      await world.run();
      expect(await world.run()).toEqual({ requeueAfterMs: 60_000 });
      expect(told()).toEqual(["shop 1"]);
      // Whatever changes meanwhile.
      world.deployments.workloadChanged(changed);
      world.clock.advance(60_000);
      expect(await world.run()).toEqual({ requeueAfterMs: 30_000 });
      expect([told(), world.looks]).toEqual([["shop 1"], 1]);
      world.refuseWith = undefined;
      world.clock.advance(30_000);
    };

    test.each([
      ["of an hour, for 90 s", refused, []],
      ["of all, for a minute", new ApiError("BUDGET_EXCEEDED", "", { status: 400, retryable: false }), ["shop"]],
    ])("tells its status all the same, each minute, when the bound is one %s", async (_, error, afterMinute) => {
      world.found = { mode: "full", isWorse: false };
      [world.refusesResources, world.refuseWith] = [true, error];
      await world.run();
      await world.run();
      expect([world.bodies.length, world.looks, told()]).toEqual([1, 1, []]);
      world.machinePool = true;
      await world.run();
      expect([world.bodies.length, world.looks, told()]).toEqual([2, 1, []]);
      world.refuseWith = undefined;
      world.clock.advance(60_000);
      await world.run();
      expect([world.bodies.length, told()]).toEqual([3, afterMinute]);
      world.clock.advance(30_000);
      await world.run();
      expect(told()).toEqual(["shop"]);
    });

    test("goes on with its full report where it stopped, when the platform takes it", async () => {
      await refuse("full");
      await world.run();
      expect([told(), world.looks]).toEqual([["shop 1", "shop 2", "shop 3"], 1]);
      // And after that as always.
      world.clock.advance(60_000);
      await world.run();
      expect(world.looks).toBe(2);
    });

    test("begins its full report anew when it is accepted for other namespaces by then", async () => {
      await refuse("full");
      world.answer(["jobs"]);
      await world.run();
      const anew = ["shop 1", "jobs 1", "shop 2", "jobs 2", "shop 3", "jobs 3"];
      expect([told(), world.looks]).toEqual([["shop 1", ...anew], 2]);
    });

    test("looks again what is the worst of all that has changed", async () => {
      await refuse("delta");
      await world.run();
      expect([told(), world.looks]).toEqual([["shop 1", "shop 1", "shop 2", "shop 3"], 2]);
    });
  });

  test("of which the platform keeps less than is told is told less, and not again and again at once", async () => {
    await world.run();
    world.found = { mode: "full", isWorse: false };
    world.refuseWith = new ApiError("BUDGET_EXCEEDED", "too many", {
      ...{ status: 400, retryable: false },
      context: { budget: "deployment-inventory" },
    });
    const pauses: number[] = [];
    for (let turn = 0; turn < 300; turn += 1) {
      const before = world.looks;
      // Changes do not shorten the pause.
      world.deployments.workloadChanged(changed);
      await world.run();
      if (world.looks > before) pauses.push(turn);
      world.clock.advance(15_000);
    }
    expect(pauses.map((turn, at) => (turn - (pauses[at - 1] ?? turn)) / 4)).toEqual([0, 1, 2, 4, 8, 15, 15, 15]);
    expect([world.exceeded, world.condition()]).toEqual([8, "Serving Reported=False/Refused"]);
    world.refuseWith = undefined;
    world.clock.advance(15 * 60_000);
    await world.run();
    expect(world.condition()).toBe("Serving Reported=True/Acknowledged");
    world.refuseWith = new ApiError("BUDGET_EXCEEDED", "too many", { status: 400, retryable: false });
    world.clock.advance(60_000);
    await world.run();
    world.refuseWith = undefined;
    world.clock.advance(60_000);
    await world.run();
    expect(world.condition()).toBe("Serving Reported=True/Acknowledged");
  });

  test("that was served before a restart is left as it is until the platform has been asked", async () => {
    await world.run();
    await world.run();
    const { managed } = world;
    const restarted = new World({}, "unread");
    restarted.managed = managed;
    expect(await restarted.run()).toEqual({ requeueAfterMs: 5_000 });
    expect([restarted.done, restarted.managed]).toEqual([[], managed]);
    restarted.snapshot.replace("all", []);
    await restarted.run();
    expect(restarted.condition()).toBe("Detached Reported=True/Acknowledged");
  });

  test("says of which pods there are too many and what to do, and what the cluster does not have", async () => {
    const at = world.clock.wallNow().toISOString();
    const list = (state: "too-large" | "read") => [{ namespace: "shop", kind: "Pod", state } as const];
    const look = async (summary: WorkloadsSummary): Promise<void> => {
      world.summary = summary;
      world.clock.advance(66_000);
      await world.run();
    };
    await world.run();
    await look(summaryOf([], list("too-large"), at, { unmeasured: ["shop"] }));
    expect(world.managed?.status?.collection).toEqual([
      { namespace: "shop", kind: "Pod", reason: "TooLarge" },
      { namespace: "shop", kind: "PodMetrics", reason: "NotInstalled" },
    ]);
    expect(world.said("Observed")).toMatchObject({ status: "False", reason: "TooLarge" });
    expect(world.said("Observed")?.message).toContain("Pod in shop");
    expect(world.said("Observed")?.message).toContain("Raise agent.resources.limits.memory");
    await look(summaryOf([], list("read"), at, { unmeasured: ["shop"], leftOut: 12 }));
    expect(world.said("Observed")).toMatchObject({ status: "True", reason: "CachesSynced" });
    expect(world.said("Observed")?.message).toContain("12 objects, the healthiest, are not told");
    expect(world.said("Observed")?.message).toContain("no metrics.k8s.io");
  });

  test("names the rights that the agent lacks, until they are there again", async () => {
    const permitted = () => world.managed?.status?.conditions?.find(({ type }) => type === "Permitted");
    await world.run();
    await world.run();
    expect(permitted()).toMatchObject({ status: "True", reason: "RightsComplete" });
    const right = { verb: "list", group: "", resource: "pods", namespace: "shop", role: "sallyport-agent-observe" };
    world.missing = [{ ...right, reach: "opened" }];
    await world.run();
    expect(permitted()).toMatchObject({
      status: "False",
      reason: "RuleMissing",
      message: "the agent may not list pods in shop (role sallyport-agent-observe)",
    });
    expect(world.condition()).toBe("Serving Reported=True/Acknowledged");
    world.missing = [];
    await world.run();
    expect(permitted()).toMatchObject({ status: "True" });
  });

  test("says what is wrong with the connection, also before the platform was ever asked", async () => {
    const connected = () => world.managed?.status?.conditions?.find(({ type }) => type === "Connected");
    await world.run();
    await world.run();
    expect(connected()).toBeUndefined();
    const { managed } = world;
    world = new World({}, "unread");
    world.managed = managed;
    world.trouble = { reason: "ProxyRefused", message: "mend it" };
    expect(await world.run()).toEqual({ requeueAfterMs: 5_000 });
    expect(connected()).toMatchObject({ status: "False", reason: "ProxyRefused", message: "mend it" });
    expect(world.condition()).toBe("Serving Reported=True/Acknowledged");
    world.trouble = undefined;
    await world.run();
    expect(connected()).toMatchObject({ status: "True", reason: "Connected" });
  });

  test("is reported also by an agent that may not write its status", async () => {
    world.statusRefused = true;
    await world.run();
    expect(await world.run()).toEqual({ requeueAfterMs: 60_000 });
    expect(world.done.at(-1)).toBe("report running under lease");
  });

  test("that the platform lists no more is released and detached", async () => {
    await world.run();
    await world.run();
    world.snapshot.replace("all", []);
    world.done.length = 0;
    await world.run();
    expect(world.done).toEqual(["release"]);
    expect(world.condition()).toBe("Detached Reported=True/Acknowledged");
    expect(await world.run()).toBeUndefined();
  });
});

describe("a deployment that the customer has not accepted", () => {
  beforeEach(() => {
    world = new World({}, "read", []);
  });
  const all = () => JSON.stringify(world.bodies);

  test("waits, says with which line it is accepted, and tells the platform nothing else", async () => {
    await world.run();
    expect(await world.run()).toEqual({ requeueAfterMs: 60_000 });
    expect(world.done).toEqual(["create", "report pending"]);
    expect(world.managed?.spec).not.toHaveProperty("acceptedNamespaces");
    expect(world.managed?.status).not.toHaveProperty("lastReportedAt");
    expect(world.said("Accepted")).toMatchObject({ status: "False", reason: "AwaitingAcceptance" });
    const line = `kubectl patch manageddeployments.sallyport.dev ${DEPLOYMENT.replace("_", "-")} -n sallyport-grants --type=merge -p '{"spec":{"acceptedNamespaces":["YOUR-NAMESPACE"]}}'`;
    expect(world.managed?.status?.acceptanceLine).toBe(line);
    expect(world.said("Accepted")?.message).toContain("status.acceptanceLine");
    expect(world.news).toEqual([
      "AwaitingAcceptance: a deployment waits for acceptance; run the command in its status.acceptanceLine",
    ]);
    expect(world.condition()).toBe("Waiting Reported=True/Acknowledged");
    const [body] = world.bodies;
    expect(body?.capabilities?.every(({ state }) => state === "denied")).toBe(true);
    expect([body?.resourceHeartbeats, body?.observedInventoryBatches]).toEqual([undefined, undefined]);
    expect(body?.state).not.toHaveProperty("environmentInfo");
    expect(all()).not.toContain("shop");
  });

  test("goes on at once when the customer names a namespace, and only there", async () => {
    await world.run();
    await world.run();
    world.answer(["shop"]);
    world.done.length = 0;
    await world.run();
    expect(world.done).toEqual(["acquire", "renew", "report running under lease"]);
    expect(world.bodies.at(-1)).toMatchObject({
      state: { environmentInfo: { namespace: "shop" } },
      observedInventoryBatches: [{ inventoryScope: "shop" }],
    });
    expect(world.condition()).toBe("Serving Reported=True/Acknowledged");
    expect(world.managed?.status?.namespaces).toEqual(["shop"]);
    expect(world.said("Accepted")).toMatchObject({ status: "True", reason: "AcceptedByCustomer" });
    expect(world.said("Opened")).toMatchObject({ status: "True" });
    expect(world.news.at(-1)).toBe("Accepted: may be served in shop");
    expect(world.deployments.workloadChanged({ ...changed, namespace: "jobs" })).toEqual([]);
    expect(world.deployments.workloadChanged(changed)).toEqual([DEPLOYMENT]);
  });

  test("tells at once that the customer has made a pool for machines, or deleted it", async () => {
    await world.run();
    await world.run();
    world.answer(["shop"]);
    await world.run();
    const machines = () => world.bodies.at(-1)?.capabilities?.find(({ key }) => key === "machines")?.state;
    for (const [machinePool, state] of [
      [true, "granted"],
      [false, "denied"],
    ] as const) {
      const before = world.bodies.length;
      await world.run();
      expect(world.bodies).toHaveLength(before);
      world.machinePool = machinePool;
      await world.run();
      expect([world.bodies.length, machines()]).toEqual([before + 1, state]);
    }
  });

  test("stops when the customer takes the acceptance back", async () => {
    await world.run();
    world.answer(["shop"]);
    await world.run();
    world.answer([]);
    world.done.length = 0;
    await world.run();
    expect(world.done).toEqual(["release", "report running"]);
    expect(world.bodies.at(-1)).not.toHaveProperty("observedInventoryBatches");
    expect(world.said("Accepted")).toMatchObject({ status: "False", reason: "RefusedByCustomer" });
    expect([world.managed?.status?.state, world.said("Opened")]).toEqual(["Waiting", undefined]);
    expect(world.deployments.workloadChanged(changed)).toEqual([]);
  });

  test("says which accepted namespace is not opened, and what to do", async () => {
    await world.run();
    world.answer(["elsewhere", "shop"]);
    await world.run();
    expect(world.said("Opened")).toMatchObject({ status: "False", reason: "NamespaceNotOpened" });
    expect(world.said("Opened")?.message).toContain("not opened to Sallyport's accounts: elsewhere. Add it to");
    expect(world.bodies.at(-1)?.state.environmentInfo).toMatchObject({ namespace: "shop" });
  });

  test("finds no room where as many wait as may", async () => {
    world.waiting = ["dep_a", "dep_b"];
    expect(await world.run()).toBeUndefined();
    expect(world.done).toEqual([]);
    world.waiting = ["dep_a"];
    await world.run();
    expect(world.done).toEqual(["create"]);
  });

  test("goes some time after the platform has stopped listing it, and waits anew when it is listed again", async () => {
    await world.run();
    await world.run();
    world.snapshot.replace("all", []);
    world.done.length = 0;
    await world.run();
    expect(world.managed?.status?.state).toBe("Detached");
    expect(await world.run()).toEqual({ requeueAfterMs: 900_000 });
    world.clock.advance(900_000);
    await world.run();
    expect(world.done).toEqual(["remove"]);
    world.snapshot.replace("all", [listed]);
    await world.run();
    await world.run();
    expect([world.done.slice(1), world.managed?.status?.state]).toEqual([["create", "report pending"], "Waiting"]);
  });

  test("that was accepted, detached and listed again is served because its acceptance still stands", async () => {
    await world.run();
    world.answer(["shop"]);
    await world.run();
    world.snapshot.replace("all", []);
    await world.run();
    expect(world.managed?.status?.state).toBe("Detached");
    world.snapshot.replace("all", [listed]);
    await world.run();
    expect(world.condition()).toBe("Serving Reported=True/Acknowledged");
  });
});
