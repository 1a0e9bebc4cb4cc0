import { expect, test } from "vitest";
import { afterAnswer, type ReleaseRecord, readWantedRelease } from "../../src/agent/releases/release-record.ts";
import { Releases } from "../../src/agent/releases/releases.ts";
import type { Render } from "../../src/agent/releases/render/render-stack.ts";
import { context, DEPLOYMENT, deploymentConfig, kubeError, NAMESPACE } from "../../src/agent/testing/sample.ts";
import { FakeClock } from "../../src/base/testing/fake-clock.ts";
import type { DeploymentState } from "../../src/contract/deployments/deployment-state.ts";
import type { StoredError } from "../../src/contract/wire/stored-error.ts";
import type { ReleaseContent } from "../../src/crds/kinds/release-content.ts";
import type { Rollout, RolloutState, RolloutStatus } from "../../src/crds/kinds/rollout.ts";
import { nextStatus } from "../../src/platform/areas/deployments/lifecycle/status.ts";
import { retarget, type Targeted } from "../../src/platform/areas/deployments/lifecycle/target.ts";
import { judge } from "../../src/platform/areas/sync/report.ts";

// The agent is killed right after an effect of its has been stored, by the API server or by the platform, and before it knows;
// the next one begins with nothing but what both of them have. The same story is told for each effect.

const AT = "2026-01-01T12:00:00.000Z";
const NOW = new Date(AT);
const releaseOf = (letter: string): string => `rel_${letter.repeat(28)}`;
const [FIRST, UNMADE, SICK] = ["a", "b", "c"].map(releaseOf) as [string, string, string];
const config = deploymentConfig({ variables: [], hash: "h", createdAt: AT });

const stackOf = (releaseId: string) => ({
  id: "shop",
  resources: { [releaseId === UNMADE ? "bad" : "web"]: { config: { type: "container" }, lifecycle: "live" } },
});

const render: Render = ({ releaseId }) => {
  if (releaseId === UNMADE) {
    return { ok: false, problems: [{ path: "resources.bad", message: "is odd", code: "UNSUPPORTED_RESOURCE" }] };
  }
  const metadata = { name: "web", labels: { "sallyport.dev/release-id": releaseId } };
  const manifest = { apiVersion: "v1", kind: "ConfigMap", metadata };
  const objects = [{ wave: 0, frozen: false, resourceId: "web", manifest }];
  return { ok: true, objects, configHash: "c".repeat(64), secret: { name: `cfg-${releaseId}`, data: { A: "eA==" } } };
};

class Killed extends Error {}

/** What outlives an agent: the API server, the platform, and the operator, which carries on what it finds. */
class World {
  /** By kind and name: what was stored, in that order. */
  readonly objects = new Map<string, unknown>();
  /** What a list may still show: all but the last write. */
  stale: ReadonlyMap<string, unknown> = new Map();
  row: Targeted & { deployment_model: "pull"; retry_requested: boolean } = {
    ...{ status: "pending", desired_release_id: FIRST, current_release_id: null, update_state: null },
    ...{ deployment_model: "pull", retry_requested: false },
  };
  deleteAction: "cleanup" | undefined;
  metadata: Record<string, unknown> | null = null;
  error: StoredError | null = null;
  /** What people and the platform's own clients were told: each change of status, with the error, and all progress. */
  readonly told: string[] = [];
  readonly effects: string[] = [];
  #killAt: number;
  #operations = 0;

  constructor(killAt: number) {
    this.#killAt = killAt;
  }

  effect(what: string): void {
    this.effects.push(what);
    if (this.effects.length === this.#killAt) throw new Killed(what);
  }

  get rollouts(): readonly Rollout[] {
    return [...this.objects].flatMap(([key, each]) => (key.startsWith("Rollout ") ? [each as Rollout] : []));
  }

  create(kind: string, object: { readonly metadata: { readonly name: string } }): void {
    const key = `${kind} ${object.metadata.name}`;
    if (this.objects.has(key)) throw kubeError(409, "AlreadyExists", "there already");
    this.stale = new Map(this.objects);
    this.objects.set(key, { ...object, metadata: { ...object.metadata, creationTimestamp: AT } });
    this.effect(`makes ${key}`);
  }

  listed(): ReleaseRecord {
    const { status, desired_release_id: desiredReleaseId, current_release_id: currentReleaseId } = this.row;
    const item = {
      ...{ updateState: this.row.update_state ?? undefined, retryRequested: this.row.retry_requested },
      ...{ deleteAction: this.deleteAction, runtimeMetadata: this.metadata, error: this.error },
    };
    return { id: DEPLOYMENT, status, desiredReleaseId, currentReleaseId, wanted: readWantedRelease(item) };
  }

  /** A report of the agent, and the platform's answer to it. */
  report(state: DeploymentState, operationId: string | null, progress: readonly object[]): DeploymentState {
    const before = this.row.status;
    const verdict = judge(this.row, state, NOW, operationId);
    if (verdict.kind !== "applied") throw new Error(`${verdict.kind}: ${before} to ${state.status}`);
    Object.assign(this.row, verdict.next, { retry_requested: verdict.retryRequested });
    if (state.runtimeMetadata !== undefined) this.metadata = state.runtimeMetadata;
    this.error = state.error ?? null;
    const { status } = this.row;
    if (status !== before) this.told.push(`${status} ${this.error?.code ?? ""}`);
    this.told.push(...progress.map((each) => JSON.stringify(each)));
    this.effect(`reports ${before} to ${status}`);
    const of = (releaseId: string | null) => (releaseId === null ? null : { releaseId, stack: stackOf(releaseId) });
    return {
      ...{ status, platform: "kubernetes", protocolVersion: 1, retryRequested: this.row.retry_requested },
      ...{ currentRelease: of(this.row.current_release_id), targetRelease: of(this.row.desired_release_id) },
      ...{ runtimeMetadata: this.metadata, error: this.error },
    };
  }

  promote(releaseId: string): void {
    const operationId = `duop_${String(++this.#operations).padStart(28, "0")}`;
    const { operation: _, ...next } = retarget(this.row, { operationId, reason: "release", releaseId, at: NOW }) ?? {};
    Object.assign(this.row, next);
  }

  delete(): void {
    this.deleteAction = "cleanup";
    Object.assign(this.row, { status: nextStatus(this.row.status, { by: "delete", action: "cleanup" }) });
  }

  /** The next step of each rollout. The first one of {@link SICK} does not come up, and is taken back. */
  operate(): void {
    for (const rollout of this.rollouts) {
      const { state = "none", startedAt } = rollout.status ?? {};
      const isSick = rollout.spec.contentName?.includes("c".repeat(28)) && !rollout.spec.rolloutId.endsWith("-2");
      const next = isSick && state === "Applying" ? "RollingBack" : WAY[state];
      if (next === undefined) continue;
      const pruned = {
        type: "Pruned",
        status: "True",
        reason: "AllPruned",
        message: "",
        lastTransitionTime: AT,
      } as const;
      const status: RolloutStatus = {
        ...{ state: next, ...(next === "Succeeded" && { conditions: [pruned] }) },
        ...((startedAt !== undefined || next === "Applying") && { startedAt: AT }),
      };
      this.objects.set(`Rollout ${rollout.metadata.name}`, { ...rollout, status });
    }
  }
}

const WAY: Readonly<Record<string, RolloutState>> = {
  ...{ none: "Planning", Planning: "AwaitingApproval", AwaitingApproval: "Queued", Queued: "Applying" },
  ...{ Applying: "Pruning", Pruning: "Succeeded", RollingBack: "RolledBack" },
};

/** One process: it has a cache of the cluster and a copy of the platform's list, and no other memory. */
class Agent {
  readonly #world: World;
  readonly #releases: Releases;
  #cached: ReadonlyMap<string, unknown> = new Map();
  /** Of the first turn. */
  #listed: ReadonlyMap<string, unknown> | undefined;

  /** @param listed what its first list shows; undefined: all */
  constructor(world: World, listed?: ReadonlyMap<string, unknown>) {
    this.#world = world;
    this.#listed = listed;
    const room = { fullBecause: () => undefined, made: () => undefined, unmade: () => undefined };
    this.#releases = new Releases({
      cluster: {
        rolloutsOf: () =>
          [...this.#cached].flatMap(([key, each]) => (key.startsWith("Rollout ") ? [each as Rollout] : [])),
        contentNamed: (name) => this.#cached.get(`ReleaseContent ${name}`) as ReleaseContent | undefined,
        readContent: async (name) => world.objects.get(`ReleaseContent ${name}`) as ReleaseContent,
        readRollout: async (name) => world.objects.get(`Rollout ${name}`) as Rollout,
        createContent: async (content) => world.create("ReleaseContent", content),
        createRollout: async (rollout) => world.create("Rollout", rollout),
      },
      secrets: {
        salt: async () => Buffer.alloc(32, 1),
        make: async ({ name }) => {
          // One that is there will do: the agent may not read it.
          if (!world.objects.has(`Secret ${name}`)) world.create("Secret", { metadata: { name } });
          return undefined;
        },
      },
      ...{ room: { contents: room, rollouts: [room] }, render, grantsNamespace: NAMESPACE },
      ...{ members: () => [], offersMachines: () => false, tellsWords: true, clock: new FakeClock(AT) },
    });
  }

  /** A report, and what is made of its answer. What that makes is in the cache at the next turn. */
  async turn(): Promise<void> {
    this.#cached = this.#listed ?? new Map(this.#world.objects);
    this.#listed = undefined;
    const record = this.#world.listed();
    const step = this.#releases.step(record, true);
    const said =
      step.do === "report" ? step.report : { state: { status: record.status }, operationId: null, progress: [] };
    const state: DeploymentState = { ...said.state, platform: "kubernetes", protocolVersion: 1 };
    const current = this.#world.report(state, said.operationId, said.progress);
    const { targetRelease, currentRelease } = current;
    const releaseInfo = targetRelease ?? currentRelease;
    const answer = { current, target: { releaseInfo, config }, namespaces: ["shop"], isLeased: () => true };
    await this.#releases.answered({ record: afterAnswer(record, current), ...answer }, context);
  }
}

/**
 * From the first installation to the last deletion.
 *
 * @param killAt which effect the first agent does not outlive
 * @param isStale its successor's first list lacks what was made right before
 */
async function story(killAt: number, isStale = false): Promise<World> {
  const world = new World(killAt);
  let agent = new Agent(world);
  const until = async (status: string): Promise<void> => {
    for (let turn = 0; turn < 40; turn += 1) {
      if (world.row.status === status) return;
      try {
        await agent.turn();
        world.operate();
      } catch (error) {
        if (!(error instanceof Killed)) throw error;
        agent = new Agent(world, isStale && error.message.startsWith("makes") ? world.stale : undefined);
      }
    }
    throw new Error(`killed at ${killAt}, it came to ${world.row.status} and not to ${status}`);
  };
  await until("running");
  world.promote(UNMADE);
  await until("update-failed");
  world.promote(SICK);
  await until("update-failed");
  world.row.retry_requested = true;
  await until("running");
  world.delete();
  await until("deleted");
  return world;
}

test("killed at each of its effects, the agent's successor comes to the same end, and makes nothing twice", async () => {
  const { effects, stale: _, ...whole } = await story(0);
  expect(
    effects.filter((each) => each.startsWith("makes")).map((each) => each.replaceAll(/([a-z0])\1{27}/g, "$1")),
  ).toEqual([
    ...["makes Secret cfg-rel_a", expect.stringMatching(/^makes ReleaseContent rel-a-/)],
    expect.stringMatching(/^makes Rollout setup-dep-d-/),
    ...["makes Secret cfg-rel_c", expect.stringMatching(/^makes ReleaseContent rel-c-/)],
    ...[expect.stringMatching(/^makes Rollout duop-/), expect.stringMatching(/^makes Rollout duop-.*-2$/)],
    "makes Rollout delete-dep-d",
  ]);
  for (let kill = 0; kill < effects.length * 2; kill += 1) {
    const [killAt, isStale] = [Math.floor(kill / 2) + 1, kill % 2 === 1];
    const { effects: others, stale: __, ...killed } = await story(killAt, isStale);
    const about = `killed after it ${others[killAt - 1]}${isStale ? ", which is not seen at first" : ""}`;
    expect(killed, about).toEqual(whole);
    // Reports are sent again; objects are not.
    const makes = (all: readonly string[]) => all.filter((each) => each.startsWith("makes"));
    expect(makes(others), about).toEqual(makes(effects));
  }
  expect(whole.row).toMatchObject({ status: "deleted" });
});
