import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { contentDigest } from "../../crds/content-digest.ts";
import type { OperationPolicySpec } from "../../crds/kinds/operation-policy.ts";
import type { ReleaseContent, ReleaseObject } from "../../crds/kinds/release-content.ts";
import type { Rollout, RolloutAction, RolloutSpec, RolloutState, RolloutStatus } from "../../crds/kinds/rollout.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import { timestamp } from "../../kube/objects/conditions.ts";
import type { WindowState } from "../gate/release-windows.ts";
import type { Intent, RolloutHands } from "../rollouts/hands/hands.ts";
import { ReleaseContents } from "../rollouts/machine/release-contents.ts";
import { type RolloutPorts, reconcileRollout } from "../rollouts/machine/rollout-reconciler.ts";
import { RunningRollouts } from "../rollouts/machine/running-rollouts.ts";
import { refOf } from "../rollouts/release-rules.ts";
import { refusal } from "./fake-cluster.ts";
import { DEPLOYMENT_ID, NAMESPACE } from "./fixtures.ts";
import { ReleaseCluster } from "./release-cluster.ts";

/** A release needs each of its commands named: nothing else lets it run by itself. */
export const RELEASES_AUTO: OperationPolicySpec = {
  rules: ["install", "update", "delete"].map((act) => ({ pattern: `release/${act}`, decision: "auto" })),
};

/** The process dies before, in the midst of or after a request; or the API server is too busy for it. */
export type Crash = "before" | "half" | "after" | "busy" | undefined;

/** Where a word is said: as soon as a rollout is in this state for the first time. */
export interface Occasion {
  readonly name: string;
  readonly state: RolloutState;
  readonly wave?: number;
  readonly say: () => void;
}

/**
 * An API server's memory of rollouts and contents, and a cluster that the hands work on. Each write and each act is a
 * request; `crash` decides at which of them the process dies.
 */
export class RolloutWorld {
  readonly clock = new FakeClock("2026-01-01T10:00:00Z");
  /** Writes and acts in their order. */
  readonly log: string[] = [];
  readonly events: string[] = [];
  readonly broken: string[] = [];
  /** Names of rollouts, each time that one begins to go back. */
  readonly waysBack: string[] = [];
  readonly rights = new Map<string, "plan" | "rollout">();
  readonly cluster = new ReleaseCluster();
  readonly rollouts = new Map<string, Rollout>();
  readonly contents = new Map<string, ReleaseContent>();
  readonly occasions: Occasion[] = [];
  policies: { spec: OperationPolicySpec }[] = [];
  accepted: string[] | undefined = ["shop"];
  window: WindowState = { isOpen: true };
  obstacle: string | undefined;
  crash: (request: number) => Crash = () => undefined;
  requests = 0;
  hands: Partial<RolloutHands> = {};
  running = new RunningRollouts();
  #made = 0;

  addContent(name: string, objects: readonly ReleaseObject[]): string {
    const digest = contentDigest(objects);
    this.contents.set(name, {
      ...{ apiVersion: "sallyport.dev/v1alpha1", kind: "ReleaseContent", metadata: this.#metadata(name) },
      spec: { deploymentId: DEPLOYMENT_ID, version: name, digest, configHash: "c".repeat(64), objects },
    });
    return digest;
  }

  add(
    name: string,
    action: RolloutAction,
    contentName?: string,
    spec: Partial<RolloutSpec> = {},
    status?: RolloutStatus,
  ): Rollout {
    const contentDigest = this.contents.get(contentName ?? "")?.spec.digest;
    const rollout: Rollout = {
      ...{ apiVersion: "sallyport.dev/v1alpha1", kind: "Rollout", metadata: this.#metadata(name) },
      spec: {
        ...{ rolloutId: name, deploymentId: DEPLOYMENT_ID, action },
        ...(contentName !== undefined && contentDigest !== undefined && { contentName, contentDigest }),
        requestedAt: timestamp(this.clock.wallNow()),
        deadline: timestamp(new Date(this.clock.wallNow().getTime() + 24 * 3_600_000)),
        ...spec,
      },
      ...(status && { status }),
    };
    this.rollouts.set(name, rollout);
    return rollout;
  }

  /** What an earlier rollout has brought. */
  addInstalled(contentName: string, objects: readonly ReleaseObject[], state: RolloutState = "Succeeded"): Rollout {
    this.addContent(contentName, objects);
    for (const each of objects) this.cluster.objects.set(refOf(each.manifest), { line: each, isOurs: true });
    const at = timestamp(this.clock.wallNow());
    const rollout = this.add(`r-${contentName}`, "install", contentName, {}, { state, startedAt: at, finishedAt: at });
    this.clock.advance(60_000);
    return rollout;
  }

  #metadata(name: string) {
    this.#made += 1;
    const uid = `${String(this.#made).padStart(8, "e")}-0000-4000-8000-000000000001`;
    const creationTimestamp = timestamp(this.clock.wallNow());
    return { name, namespace: NAMESPACE, uid, resourceVersion: "1", generation: 1, creationTimestamp };
  }

  rollout(name: string): Rollout {
    const found = this.rollouts.get(name);
    if (found === undefined) throw new Error(`no rollout ${name}`);
    return found;
  }

  state(name: string): RolloutState | undefined {
    return this.rollout(name).status?.state;
  }

  reason(name: string, type: string): string {
    const found = this.rollout(name).status?.conditions?.find((each) => each.type === type);
    return found === undefined ? "nothing" : `${found.status}/${found.reason}`;
  }

  message(name: string, type: string): string | undefined {
    return this.rollout(name).status?.conditions?.find((each) => each.type === type)?.message;
  }

  /** What a person writes: each word once, as the API server has it. */
  say(name: string, spec: Partial<RolloutSpec>): void {
    const before = this.rollout(name);
    if ((["approvedDigest", "deniedReason", "abortReason"] as const).some((word) => spec[word] && before.spec[word]))
      return;
    const { resourceVersion, generation = 1 } = before.metadata;
    const metadata = {
      ...before.metadata,
      resourceVersion: String(Number(resourceVersion) + 1),
      generation: generation + 1,
    };
    this.rollouts.set(name, { ...before, metadata, spec: { ...before.spec, ...spec } });
  }

  approve(name: string): void {
    const { plannedDigest } = this.rollout(name).status ?? {};
    if (plannedDigest !== undefined) this.say(name, { approvedDigest: plannedDigest });
  }

  accept(namespaces: string[] | undefined): void {
    this.accepted = namespaces;
  }

  open(window: WindowState): void {
    this.window = window;
  }

  get installed(): readonly string[] {
    return this.cluster.installed;
  }

  async #request<T>(word: string, effect: (half: boolean) => T): Promise<T> {
    const when = this.crash(this.requests);
    this.requests += 1;
    if (when === "before") throw new Error("crash");
    if (when === "busy") throw refusal(503, "ServiceUnavailable");
    const answer = effect(when === "half");
    this.log.push(word);
    if (when !== undefined) throw new Error("crash");
    await Promise.resolve();
    return answer;
  }

  get ports(): RolloutPorts {
    const surroundings = () => ({
      rollouts: [...this.rollouts.values()],
      policies: this.policies,
      deployments:
        this.accepted === undefined
          ? []
          : [{ spec: { deploymentId: DEPLOYMENT_ID, name: "shop", acceptedNamespaces: this.accepted } }],
    });
    return {
      ...{ clock: this.clock, fence: () => undefined, running: this.running, named: new Map() },
      rollout: (key) => this.rollouts.get(key),
      surroundings,
      liveSurroundings: async () => surroundings(),
      obstacle: () => this.obstacle,
      windowState: () => this.window,
      places: () => this.accepted ?? [],
      contents: new ReleaseContents(async (name) => this.contents.get(name)),
      writeRollout: (before, status) => this.#request(wordFor(status), () => this.#write(before, status)),
      redact: (text) => text.replaceAll("hunter2", "[redacted]"),
      hands: { ...this.#hands(), ...this.hands },
      metrics: { planned: ignored, applied: ignored, pruned: ignored, phase: ignored, ended: ignored },
      publisher: { rolloutBecame: (_, event, message) => void this.events.push(`${event}: ${message}`) },
    };
  }

  #write(before: Rollout, status: RolloutStatus): Rollout {
    const { name } = before.metadata;
    const stored = this.rollouts.get(name);
    if (stored === undefined) throw refusal(404, "NotFound");
    if (stored.metadata.resourceVersion !== before.metadata.resourceVersion) throw refusal(409, "Conflict");
    if (JSON.stringify(stored.status) === JSON.stringify(status)) return stored;
    const resourceVersion = String(Number(stored.metadata.resourceVersion) + 1);
    this.rollouts.set(name, { ...stored, metadata: { ...stored.metadata, resourceVersion }, status });
    if (status.state === "RollingBack" && stored.status?.state !== "RollingBack") this.waysBack.push(name);
    const due = this.occasions.filter(
      (each) => each.name === name && each.state === status.state && (each.wave ?? status.wave) === status.wave,
    );
    for (const each of due) {
      this.occasions.splice(this.occasions.indexOf(each), 1);
      each.say();
    }
    return this.rollout(name);
  }

  #demand(isSo: boolean, what: string): void {
    if (!isSo) this.broken.push(what);
  }

  /** What has to hold whenever something is changed in the cluster. */
  #demandLeave({ rollout }: Intent, until: Date, isWayBack: boolean): void {
    const { spec, status } = this.rollout(rollout.metadata.name);
    const isAuto = this.policies.some((each) => each.spec.rules?.some(({ decision }) => decision === "auto"));
    const mayGo = isAuto || (spec.approvedDigest !== undefined && spec.approvedDigest === status?.plannedDigest);
    const states = isWayBack ? ["RollingBack"] : ["Applying", "Pruning"];
    this.#demand(states.includes(status?.state ?? ""), `changed in ${status?.state}`);
    this.#demand(mayGo || isWayBack || status?.state === "Pruning", "changed without a word of the customer");
    this.#demand(isWayBack || status?.state === "Pruning" || spec.deniedReason === undefined, "applied after a denial");
    const ranMs = Date.parse(status?.until ?? "") - Date.parse(status?.startedAt ?? "");
    this.#demand(ranMs <= 7_200_000 && until.getTime() === Date.parse(status?.until ?? ""), "no end");
    this.rights.set(rollout.metadata.uid, "rollout");
    const others = [...this.rollouts.values()].filter(
      (each) => each.metadata.uid !== rollout.metadata.uid && each.status?.startedAt && !each.status.finishedAt,
    );
    this.#demand(others.length === 0, "two at once");
  }

  #hands(): RolloutHands {
    return {
      plan: (intent) => this.#request("plan", () => this.cluster.plan(intent)),
      apply: (intent, wave, until) =>
        this.#request(`apply ${wave}`, (half) => {
          this.#demandLeave(intent, until, this.state(intent.rollout.metadata.name) === "RollingBack");
          return this.cluster.apply(intent, wave, half);
        }),
      health: (intent, wave) =>
        this.#request(`health ${wave}`, () =>
          this.cluster.health(`${intent.rollout.metadata.uid} ${intent.rollout.status?.state}`, intent, wave),
        ),
      prune: (intent, until) =>
        this.#request("prune", (half) => {
          this.#demandLeave(intent, until, this.state(intent.rollout.metadata.name) === "RollingBack");
          return this.cluster.prune(intent, half);
        }),
      leftBehind: () => this.#request("look", () => ({ left: [], unsearched: [] })),
      detach: (intent, until) =>
        this.#request("detach", (half) => {
          this.#demandLeave(intent, until, false);
          return this.cluster.detach(half ? intent.former.slice(0, 1) : intent.former);
        }),
      close: ({ metadata: { uid } }) => this.#request("close", () => void this.rights.delete(uid)),
    };
  }

  async look(name: string) {
    const context = { signal: new AbortController().signal, log: silentLogger, reconcileId: "1" };
    return await reconcileRollout(name, this.ports, context);
  }

  /** Looks at each rollout again and again, as the queue does; a crash is a new process. */
  async until(done: () => boolean, turns = 400): Promise<void> {
    for (let turn = 0; turn < turns && !done(); turn += 1) {
      let pauseMs = 60_000;
      for (const name of [...this.rollouts.keys()]) {
        const result = await this.look(name).catch((error: unknown) => {
          if (error instanceof ApiError && error.isTransient) return { requeueAfterMs: 10 };
          if (!(error instanceof Error && error.message === "crash")) throw error;
          this.running = new RunningRollouts();
          return { requeueAfterMs: 1 };
        });
        if (result) pauseMs = Math.min(pauseMs, result.requeueAfterMs);
        if (done()) return;
      }
      this.clock.advance(pauseMs);
    }
  }

  async untilState(name: string, ...states: readonly RolloutState[]): Promise<void> {
    await this.until(() => states.includes(this.state(name) ?? "Planning") && this.rollout(name).status !== undefined);
  }
}

const ignored = (): undefined => undefined;

function wordFor({ state, waveOf }: RolloutStatus): string {
  const isWave = state === "Applying" || state === "Gating" || state === "RollingBack";
  return isWave ? `${state} ${waveOf}` : (state ?? "none");
}
