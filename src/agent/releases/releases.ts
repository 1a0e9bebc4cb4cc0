import type { Clock } from "../../base/clock.ts";
import type { DeploymentState } from "../../contract/deployments/deployment-state.ts";
import { SyncTarget } from "../../contract/deployments/sync.ts";
import { misfit } from "../../contract/wire/misfit.ts";
import type { StoredError } from "../../contract/wire/stored-error.ts";
import type { Rollout } from "../../crds/kinds/rollout.ts";
import { lineWithoutCommands, MAX_API_ERROR, printable } from "../../crds/printable.ts";
import { ApiError as KubeError } from "../../kube/client/api-error.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import type { Capacity } from "../kernel/capacity.ts";
import { type Installed, installedOf, type Member } from "./installed.ts";
import { made } from "./made.ts";
import type { ReleaseCluster } from "./release-cluster.ts";
import { type NewContent, newContent, newRollout } from "./release-objects.ts";
import type { ReleaseRecord } from "./release-record.ts";
import { NOTHING_TO_INSTALL, taken, unreadable, unrendered } from "./release-refusals.ts";
import type { ReleaseSecrets } from "./release-secrets.ts";
import { type Note, newsOf, nextReleaseStep, type ReleaseStep } from "./release-step.ts";
import type { Render, Rendered } from "./render/render-stack.ts";
import { stored } from "./rollout-progress.ts";
import { type StackNames, stackNamesOf } from "./stack-state.ts";
import { Troubles } from "./troubles.ts";
import { FINAL_STATES, type Wish } from "./wish.ts";

type Room = Pick<Capacity, "fullBecause" | "made" | "unmade">;

export interface ReleasesOptions {
  readonly cluster: Pick<
    ReleaseCluster,
    "rolloutsOf" | "contentNamed" | "readContent" | "readRollout" | "createContent" | "createRollout"
  >;
  /** Bounds of what a platform can have made here: of one deployment, and in all. */
  readonly room: { readonly contents: Room; readonly rollouts: readonly Room[] };
  readonly render: Render;
  readonly grantsNamespace: string;
  /** Undefined: the customer lets releases bring no secret values. */
  readonly secrets: Pick<ReleaseSecrets, "salt" | "make"> | undefined;
  /** Workloads that carry the deployment's label, as last seen. */
  readonly members: (deploymentId: string) => readonly Member[];
  /** The customer lets machines join for this deployment. */
  readonly offersMachines: (deploymentId: string) => boolean;
  /** False: names are hidden. */
  readonly tellsWords: boolean;
  readonly clock: Clock;
}

/** What the platform answered to a report of a deployment. */
export interface Answered {
  readonly record: ReleaseRecord;
  readonly current: DeploymentState;
  readonly target: unknown;
  /** Opened namespaces that the deployment is accepted for. */
  readonly namespaces: readonly string[];
  /** Asked right before each write. */
  readonly isLeased: () => boolean;
}

/** Of one deployment within a minute: a platform that wants another release each second has no more made. */
const MAX_A_MINUTE = 10;
const MINUTE_MS = 60_000;

/** Turns the releases that the platform wants into objects of the cluster, and their course into reports. */
export class Releases {
  readonly #options: ReleasesOptions;
  /** By deployment, as are the others. Bounded by what the platform lists. */
  readonly #notes = new Map<string, Note>();
  readonly #stacks = new Map<string, StackNames>();
  readonly #madeAtMs = new Map<string, readonly number[]>();
  readonly #troubles: Troubles;

  constructor(options: ReleasesOptions) {
    this.#options = options;
    this.#troubles = new Troubles(options.clock);
  }

  /** Undefined: nothing is installed. */
  installed(id: string): Installed | undefined {
    const { cluster } = this.#options;
    return installedOf(cluster.rolloutsOf(id), (name) => cluster.contentNamed(name));
  }

  /** What to report of it now. */
  step(record: ReleaseRecord, isLeased: boolean): ReleaseStep {
    return this.#next(record, isLeased, undefined);
  }

  /** Changes when something is worth a report at once. */
  news(record: ReleaseRecord, isLeased: boolean): string {
    return newsOf(record, this.step(record, isLeased), this.#options.cluster.rolloutsOf(record.id));
  }

  forget(id: string): void {
    this.#notes.delete(id);
    this.#stacks.delete(id);
    this.#madeAtMs.delete(id);
    this.#troubles.forget(id);
  }

  /**
   * Makes what the answer asks for, where it is not there yet. The target is used here and not kept: its configuration
   * has secrets, and each report brings it again.
   *
   * @returns when to report again, in milliseconds; undefined: nothing hurries.
   */
  async answered({ record, ...answer }: Answered, context: ReconcileContext): Promise<number | undefined> {
    const { id } = record;
    this.#readStack(id, answer.current);
    const target = readTarget(answer.target);
    // Of one that cannot be read the wish is told: it would wait for ever.
    const releaseId = target === undefined || "problem" in target ? undefined : target.releaseInfo.releaseId;
    const asked = { releaseId: releaseId ?? record.desiredReleaseId ?? record.currentReleaseId };
    const step = this.#next(record, answer.isLeased(), target === undefined ? undefined : asked);
    if (step.do !== "create" || target === undefined) return undefined;
    const nowMs = this.#options.clock.monotonicMs();
    const lately = (this.#madeAtMs.get(id) ?? []).filter((atMs) => nowMs - atMs < MINUTE_MS);
    const [first = nowMs] = lately;
    if (lately.length >= MAX_A_MINUTE) return first + MINUTE_MS - nowMs;
    this.#madeAtMs.set(id, [...lately, nowMs]);
    const note = await this.#make(step.wish, id, target, answer, context);
    const before = this.#notes.get(id);
    if (note === undefined) this.#notes.delete(id);
    else this.#notes.set(id, note);
    if (note !== undefined)
      context.log.warn({ deploymentId: id, code: note.error.code }, "a release is not asked for here");
    if (note?.isFinal === true) await this.#supersede(step.wish, id, target, answer, context);
    const isNews =
      note !== undefined && (note.rolloutId !== before?.rolloutId || note.error.code !== before.error.code);
    return isNews ? 0 : undefined;
  }

  #next(record: ReleaseRecord, isLeased: boolean, target: { readonly releaseId: string | null } | undefined) {
    const { cluster, offersMachines, tellsWords } = this.#options;
    const releaseOf = ({ spec }: Rollout) => cluster.contentNamed(spec.contentName ?? "")?.spec.releaseId;
    const rollouts = cluster.rolloutsOf(record.id);
    const stack = this.#stacks.get(record.id);
    const note = this.#notes.get(record.id);
    const members = record.tellsHealth === false ? [] : this.#options.members(record.id);
    const trouble = this.#troubles.of(record, this.installed(record.id), members, tellsWords);
    return nextReleaseStep({
      ...{ record, isLeased, rollouts, target, note, stack, releaseOf },
      ...{ trouble, members, offersMachines: offersMachines(record.id), tellsWords },
    });
  }

  #readStack(id: string, { currentRelease, targetRelease }: DeploymentState): void {
    const release = targetRelease ?? currentRelease;
    if (this.#stacks.get(id)?.releaseId === release?.releaseId) return;
    const names = stackNamesOf(release);
    if (names === undefined) this.#stacks.delete(id);
    else this.#stacks.set(id, names);
  }

  /** @returns why nothing was made; undefined: it is there. */
  async #make(
    wish: Wish,
    deploymentId: string,
    target: ReadTarget,
    { namespaces, isLeased }: Pick<Answered, "namespaces" | "isLeased">,
    context: ReconcileContext,
  ): Promise<Note | undefined> {
    const { grantsNamespace, clock, secrets } = this.#options;
    const { rolloutId, releaseId } = wish;
    const fails = (error: StoredError): Note => ({ rolloutId, error, isFinal: true });
    const full = this.#fullBecause(deploymentId, releaseId !== null);
    if (full !== undefined) {
      const error = stored("TOO_MANY_ROLLOUTS", `the cluster has no room for it yet: ${full}`);
      return { rolloutId, error, isFinal: false };
    }
    let content: NewContent | undefined;
    if (releaseId !== null) {
      if ("problem" in target) return fails(unreadable(target.problem));
      const salt = await secrets?.salt(context.signal);
      const rendered = this.#render(target, deploymentId, releaseId, this.#stayingIn(deploymentId, namespaces), salt);
      if (!rendered.ok) return fails(unrendered(rendered));
      if (rendered.objects.length === 0) return fails(NOTHING_TO_INSTALL);
      const version = versionOf(target, releaseId);
      const { objects, configHash } = rendered;
      content = newContent({ deploymentId, releaseId, version, objects, configHash }, grantsNamespace);
      if (rendered.secret !== undefined && isLeased()) {
        const refusal = await secrets?.make(rendered.secret, deploymentId, context.signal);
        if (refusal !== undefined) return fails(refusal);
      }
    }
    const needsApproval = "config" in target && target.config.stackSettings.updates === "approval-required";
    const rollout = newRollout(wish, deploymentId, content, grantsNamespace, clock.wallNow(), needsApproval);
    const refusal = await this.#create(content, rollout, isLeased, context);
    return refusal === undefined ? undefined : fails(refusal);
  }

  /**
   * A release that is no objects here ends the rollout that still waits for one before it, by a rollout that names a content
   * which is not there. Else the customer could approve that one later, and the platform would not know what runs.
   */
  async #supersede(
    wish: Wish,
    deploymentId: string,
    target: ReadTarget,
    { isLeased }: Pick<Answered, "isLeased">,
    context: ReconcileContext,
  ): Promise<void> {
    const { cluster, grantsNamespace, clock } = this.#options;
    const { releaseId } = wish;
    const waits = ({ status }: Rollout): boolean =>
      status?.startedAt === undefined && !FINAL_STATES.has(status?.state ?? "Planning");
    if (releaseId === null || !cluster.rolloutsOf(deploymentId).some(waits)) return;
    if (this.#fullBecause(deploymentId, false) !== undefined) return;
    const version = versionOf(target, releaseId);
    const content = newContent({ deploymentId, releaseId, version, objects: [], configHash: "" }, grantsNamespace);
    const rollout = newRollout(wish, deploymentId, content, grantsNamespace, clock.wallNow());
    await this.#create(undefined, rollout, isLeased, context);
  }

  /** Those of what is installed first: a release does not move because the customer accepts one namespace more. */
  #stayingIn(deploymentId: string, accepted: readonly string[]): readonly string[] {
    const { namespaces = [] } = this.installed(deploymentId) ?? {};
    const there = namespaces.filter((each) => accepted.includes(each));
    return [...there, ...accepted.filter((each) => !there.includes(each))];
  }

  #render(
    target: SyncTarget,
    deploymentId: string,
    releaseId: string,
    namespaces: readonly string[],
    secretSalt: Uint8Array | undefined,
  ): Rendered {
    const { render, grantsNamespace } = this.#options;
    const { stack, version } = target.releaseInfo;
    const nothing = { ok: false } as const;
    if (stack == null)
      return {
        ...nothing,
        problems: [{ path: "", code: "STACK_INVALID", message: "the release has no stack for Kubernetes" }],
      };
    if (namespaces.length === 0) {
      const message = "none of the namespaces that the customer accepts it for is opened";
      return { ...nothing, problems: [{ path: "", code: "NAMESPACE_NOT_ACCEPTED", message }] };
    }
    const of = { deploymentId, releaseId, version: version ?? releaseId };
    const salt = secretSalt && { secretSalt };
    return render({ stack, config: target.config, ...of, grantsNamespace, namespaces, ...salt });
  }

  #fullBecause(deploymentId: string, hasContent: boolean): string | undefined {
    const { contents, rollouts } = this.#options.room;
    const full = hasContent ? contents.fullBecause(deploymentId) : undefined;
    if (full !== undefined) return `of releases ${full}`;
    return rollouts.map((each) => each.fullBecause(deploymentId)).find((each) => each !== undefined);
  }

  async #create(
    content: NewContent | undefined,
    rollout: ReturnType<typeof newRollout>,
    isLeased: () => boolean,
    { signal, log }: ReconcileContext,
  ): Promise<StoredError | undefined> {
    const { cluster, room } = this.#options;
    const { deploymentId, action } = rollout.spec;
    try {
      if (content !== undefined && cluster.contentNamed(content.metadata.name)?.spec.digest !== content.spec.digest) {
        if (!isLeased()) return undefined;
        const there = () => cluster.readContent(content.metadata.name, signal);
        const isSame = await made([room.contents], content, (each) => cluster.createContent(each, signal), there);
        if (!isSame) return taken(content.metadata.name);
      }
      if (!isLeased()) return undefined;
      const there = () => cluster.readRollout(rollout.metadata.name, signal);
      const isSame = await made(room.rollouts, rollout, (each) => cluster.createRollout(each, signal), there);
      if (!isSame) return taken(rollout.metadata.name);
    } catch (error) {
      // It is too large, or has what the kind does not take: the same again would be refused again.
      if (!(error instanceof KubeError && (error.isInvalid || error.status === 413))) throw error;
      return stored(
        "PREFLIGHT_CHECKS_FAILED",
        `the cluster takes no such release: ${printable(error.message, MAX_API_ERROR)}`,
      );
    }
    log.info({ name: rollout.metadata.name, deploymentId, action }, "a release is asked for in the cluster");
    return undefined;
  }
}

/** For people, who may take a word of the platform for a command. */
function versionOf(target: ReadTarget, releaseId: string): string {
  const version = "problem" in target ? undefined : target.releaseInfo.version;
  return lineWithoutCommands(version ?? releaseId, 256) || releaseId;
}

type ReadTarget = SyncTarget | { readonly problem: string };

/** Undefined: the answer has none. */
function readTarget(target: unknown): ReadTarget | undefined {
  if (target === undefined || target === null) return undefined;
  const problem = misfit(SyncTarget, target, ["releaseInfo", "config"]);
  return problem === undefined ? (target as SyncTarget) : { problem };
}
