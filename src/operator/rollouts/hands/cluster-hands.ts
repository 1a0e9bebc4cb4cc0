import { atOnce } from "../../../base/at-once.ts";
import type { Clock } from "../../../base/clock.ts";
import { withDeadline } from "../../../base/deadline.ts";
import type { ReleaseObject } from "../../../crds/kinds/release-content.ts";
import type { Rollout } from "../../../crds/kinds/rollout.ts";
import { ApiError } from "../../../kube/client/api-error.ts";
import type { Client } from "../../../kube/client/client.ts";
import { resources } from "../../../kube/objects/resource.ts";
import type { RolloutAccess } from "../../access/rollout-access.ts";
import { type ReleaseRules, type RuleProblem, refOf, releaseProblems } from "../release-rules.ts";
import { RolloutAccounts } from "./accounts.ts";
import { applyObject, type Failure, isFailure, type Outcome, type Wish } from "./apply-object.ts";
import { type ApplySetPorts, coverMembers, toldMembers } from "./apply-set.ts";
import { detachObject } from "./detach.ts";
import type { Intent, LeftBehind, Planned, Pruned, RolloutHands, WaveApplied, WaveHealth } from "./hands.ts";
import { waveHealth } from "./health/gate.ts";
import { withWarning } from "./health/last-warning.ts";
import { withoutLater } from "./health/resource-rows.ts";
import { watchedObjects } from "./health/watched-objects.ts";
import { leftBehind, unsearched } from "./left-behind.ts";
import { membersOf } from "./members.ts";
import { labelProblems, type Membership, membershipOf } from "./membership.ts";
import { dryRuns } from "./planning/dry-runs.ts";
import { NOTHING_SHOWN, planned, type Shown, toldOverride } from "./planning/plan.ts";
import { prune } from "./prune.ts";
import type { LiveObject, ReleaseApi } from "./release-api.ts";
import { ReleaseSecrets, type SecretCopy, type SecretSource } from "./release-secrets.ts";
import { type Deed, lackingRights, needsOf } from "./rights.ts";
import { refOfPlace, type SecretPlace } from "./secret-places.ts";
import { ServedKinds } from "./served-kinds.ts";
import {
  AT_ONCE,
  isAutoscaled,
  isNamed,
  keeps,
  namespacesOf,
  outdated,
  outdatedSecrets,
  secretsOf,
  type Target,
  type Targets,
  targetsOf,
  wasKept,
} from "./targets.ts";

export interface HandsPorts extends ApplySetPorts {
  readonly access: RolloutAccess;
  /** The API server as the account with this token. */
  readonly clientFor: (token: string) => Pick<Client, "exchange">;
  readonly rules: Omit<ReleaseRules, "namespaces">;
  /** The customer lets releases make objects anew whose fields cannot be changed. */
  readonly recreates: boolean;
  /** Left out: releases bring no secret values. */
  readonly secrets?: SecretSource;
  /** Throws when this process does not lead any more. */
  readonly fence: () => void;
  readonly clock: Clock;
}

/** How long a plan's account may do its dry runs. */
const PLAN_MS = 600_000;
/** To take a plan's account away, also when the plan was given up. */
const CLOSE_MS = 15_000;

/** {@link RolloutHands} on a real API server. */
export class ClusterHands implements RolloutHands {
  readonly #ports: HandsPorts;
  readonly #accounts: RolloutAccounts;
  readonly #kinds = new ServedKinds();
  readonly #secrets: ReleaseSecrets;

  constructor(ports: HandsPorts) {
    this.#ports = ports;
    this.#secrets = new ReleaseSecrets(ports.secrets);
    this.#accounts = new RolloutAccounts(ports);
  }

  async plan(intent: Intent, signal: AbortSignal): Promise<Planned> {
    const { clock, access, fence } = this.#ports;
    const { rollout } = intent;
    // What is only let go may be as it likes.
    const problems = rollout.spec.action === "detach" ? [] : this.#problems(intent);
    const [first, ...others] = namespacesOf([...intent.objects, ...outdated(intent)], intent);
    if (first === undefined) return planned(intent, { ...NOTHING_SHOWN, problems });
    const namespaces = [first, ...others] as const;
    const membership = this.#membership(intent);
    const { recreates } = this.#ports;
    const wishFor = (target: Target): Omit<Wish, "isDryRun" | "listed"> => ({ ...wish(intent, target), recreates });
    const rules = this.#rules(intent);
    const ports = { kinds: this.#kinds, membership, wishFor, clock, rules };
    const end = async (): Promise<void> => {
      // Another process that leads now may be planning with the same account.
      fence();
      await withDeadline(clock, CLOSE_MS, new AbortController().signal, (closing) =>
        access.close(["plan"], rollout, namespaces, closing),
      );
    };
    const until = new Date(clock.wallNow().getTime() + PLAN_MS);
    let shown: Shown;
    let copies: readonly SecretCopy[];
    try {
      const api = await this.#accounts.open("plan", rollout, namespaces, until, signal);
      const dryRun = await dryRuns(ports, api, intent, namespaces, problems, signal);
      const wanted = rollout.spec.action === "detach" ? [] : secretsOf(intent, intent.objects);
      const open = wanted.filter(({ namespace }) => namespaces.includes(namespace));
      const secrets = await this.#secrets.plan(api, intent, membership, open, clock, signal);
      ({ copies } = secrets);
      shown = { ...dryRun, problems: [...dryRun.problems, ...secrets.problems] };
    } catch (error) {
      // What went wrong first says more; the sweep removes what is left.
      await end().catch(() => undefined);
      throw error;
    }
    await end();
    return planned(intent, shown, copies);
  }

  async apply(intent: Intent, wave: number, until: Date, signal: AbortSignal): Promise<WaveApplied> {
    const lines = intent.objects.filter((line) => line.wave === wave);
    const refs = new Set(lines.map(({ manifest }) => refOf(manifest)));
    const problems = this.#problems(intent).filter(({ ref }) => refs.has(ref));
    if (lines.length === 0 || problems.length > 0) return nothingApplied(problems);
    await coverMembers(this.#ports, intent.rollout.spec.deploymentId, intent.objects, signal);
    const membership = this.#membership(intent);
    // What a person or a policy has allowed, on the way back too.
    const shown = new Set(this.#ports.recreates ? intent.rollout.status?.plan?.recreate : []);
    return this.#as("apply", intent, lines, until, signal, async (api, found) => {
      if (found.problems.length > 0) return nothingApplied(found.problems);
      const uncopied = await this.#secrets.copy(api, intent, membership, secretsOf(intent, lines), signal);
      if (uncopied.length > 0) return { ...nothingApplied([]), failures: uncopied };
      const members = await membersOf(api, membership, found.targets, signal);
      const results = await atOnce(found.targets, AT_ONCE, async (target): Promise<Outcome | Failure> => {
        const listed = members.get(target.ref);
        const wanted = { ...wish(intent, target), recreates: shown.has(target.ref), isDryRun: false, listed };
        return applyObject(api, membership, wanted, signal);
      });
      return this.#applied(intent, found.targets, results);
    });
  }

  async health(
    intent: Intent,
    wave: number,
    waveStartedAt: Date,
    until: Date,
    signal: AbortSignal,
  ): Promise<WaveHealth> {
    const lines = intent.objects.filter((line) => line.wave === wave);
    if (lines.length === 0) return { verdict: "healthy", resources: [], againMs: 0 };
    return this.#as("apply", intent, lines, until, signal, async (api, { targets, problems }) => {
      const [problem] = problems;
      if (problem !== undefined) {
        return { verdict: "failed", message: `${problem.ref}: ${problem.message}`, resources: [], againMs: 0 };
      }
      const leftAlone = ({ ref, line }: Target, live: LiveObject | undefined): boolean =>
        live === undefined ? intent.done.includes(ref) : wasKept(intent, line, live);
      const watched = await watchedObjects(api, this.#membership(intent), targets, leftAlone, signal);
      const health = waveHealth(watched, waveStartedAt, until, this.#ports.clock.wallNow());
      const warned = await withWarning(api, watched, health, signal);
      return { ...warned, resources: withoutLater(health.resources, intent, wave) };
    });
  }

  async prune(intent: Intent, until: Date, signal: AbortSignal): Promise<Pruned> {
    const lines = outdated(intent);
    const copies = outdatedSecrets(intent);
    if (lines.length + copies.length === 0) return { deleted: 0, waiting: 0, left: [] };
    const work = async (api: ReleaseApi, { targets }: Targets): Promise<Pruned> => {
      const pruned = await prune(api, this.#membership(intent), intent, targets, this.#ports.clock, signal);
      if (pruned.waiting > 0) return pruned;
      // What an object that stays reads stays with it.
      const left = new Set(pruned.left.map(({ ref }) => ref));
      const read = secretsOf(
        intent,
        lines.filter(({ manifest }) => left.has(refOf(manifest))),
      ).map(refOfPlace);
      const going = copies.filter((place) => !read.includes(refOfPlace(place)));
      const removed = await this.#secrets.remove(api, going, signal);
      return { ...pruned, deleted: pruned.deleted + removed.deleted, left: [...pruned.left, ...removed.left] };
    };
    return this.#as("prune", intent, lines, until, signal, work, copies);
  }

  async leftBehind(intent: Intent, until: Date, signal: AbortSignal): Promise<LeftBehind> {
    const members = await toldMembers(this.#ports, intent.rollout.spec.deploymentId, signal);
    const lines = outdated(intent);
    const places = namespacesOf(lines, intent);
    const look = (api: ReleaseApi, { targets }: Targets) =>
      leftBehind(api, this.#membership(intent), members.kinds, targets, places, this.#ports.clock, signal);
    const left = places.length === 0 ? [] : await this.#as("prune", intent, lines, until, signal, look);
    return { left, unsearched: unsearched(members, intent, places) };
  }

  async detach(intent: Intent, until: Date, signal: AbortSignal): Promise<WaveApplied> {
    const lines = [...intent.objects, ...outdated(intent)];
    if (lines.length === 0) return nothingApplied([]);
    return this.#as("detach", intent, lines, until, signal, async (api, { targets }) => {
      const results = await atOnce(targets, AT_ONCE, async (target): Promise<Outcome | Failure> => {
        const was = await detachObject(api, this.#membership(intent), target, signal);
        if (typeof was === "object") return was;
        return { did: was ? "changed" : "unchanged", overrides: [], fields: [] };
      });
      return this.#applied(intent, targets, results);
    });
  }

  async close(rollout: Rollout, namespaces: readonly string[], signal: AbortSignal): Promise<void> {
    this.#accounts.forget(rollout.metadata.uid);
    this.#secrets.forget(rollout.metadata.uid);
    await this.#ports.access.close(["plan", "rollout"], rollout, namespaces, signal);
  }

  #membership({ rollout }: Intent): Membership {
    return membershipOf(rollout, this.#ports.grantsNamespace);
  }

  #rules({ namespaces }: Intent): ReleaseRules {
    return { ...this.#ports.rules, namespaces };
  }

  /** What the rules of releases have against the objects; all of them are judged, because they name each other. */
  #problems(intent: Intent): readonly RuleProblem[] {
    return [
      ...releaseProblems(intent.objects, this.#rules(intent)),
      ...labelProblems(intent.objects, this.#membership(intent)),
    ];
  }

  /** As the rollout's account in the namespaces of these objects, and of these copies. */
  #as<T>(
    deed: Deed,
    intent: Intent,
    lines: readonly ReleaseObject[],
    until: Date,
    signal: AbortSignal,
    work: (api: ReleaseApi, found: Targets) => Promise<T>,
    copies: readonly SecretPlace[] = [],
  ): Promise<T> {
    const found = (api: ReleaseApi): Promise<Targets> => targetsOf(this.#kinds, api.exchange, lines, signal);
    return this.#accounts.as(
      intent.rollout,
      [...new Set([...namespacesOf(lines, intent), ...copies.map(({ namespace }) => namespace)])],
      until,
      signal,
      async (api) => work(api, await found(api)),
      async (api) => {
        const deletes = copies.map(({ namespace }) => ({ verb: "delete", resource: resources.secrets, namespace }));
        const needs = [...needsOf(deed, (await found(api)).targets), ...deletes];
        return lackingRights(api.exchange, needs, this.#ports.clock, signal);
      },
    );
  }

  #applied(intent: Intent, targets: readonly Target[], results: readonly (Outcome | Failure)[]): WaveApplied {
    const told = targets.map(({ ref }, index) => ({ ref, result: results[index] }));
    const count = (did: Outcome["did"]): number =>
      results.filter((result) => !isFailure(result) && result.did === did).length;
    const refusals = results.filter(isFailure).map(({ cause }) => cause);
    const isLocked = refusals.some((cause) => cause instanceof ApiError && (cause.isForbidden || cause.isUnauthorized));
    if (isLocked) this.#accounts.forget(intent.rollout.metadata.uid);
    return {
      created: count("created"),
      changed: count("changed"),
      unchanged: count("unchanged"),
      overrides: told.flatMap(({ ref, result }) =>
        result === undefined || isFailure(result)
          ? []
          : result.overrides.map((override) => toldOverride({ ...override, ref })),
      ),
      failures: told.flatMap(({ ref, result }) => {
        if (result === undefined || !isFailure(result)) return [];
        const { message, isTemporary, cause } = result;
        // The account is opened anew: a token may have ended, or an account been removed too early.
        const isEnded = cause instanceof ApiError && cause.isUnauthorized;
        return [{ ref, message, isTemporary: isTemporary || isEnded }];
      }),
    };
  }
}

function wish(intent: Intent, { ref, line, resource }: Target): Omit<Wish, "isDryRun" | "listed" | "recreates"> {
  const { manifest } = line;
  const { startedAt } = intent.rollout.status ?? {};
  const takesOver = isNamed(intent.takeOver, manifest);
  const wasInstalled = intent.installed.includes(ref);
  const isDone = intent.done.includes(ref);
  const keepsReplicas = isAutoscaled(intent.objects, manifest);
  const isFrozen = keeps(intent, line);
  return { resource, manifest, takesOver, wasInstalled, isFrozen, isDone, keepsReplicas, startedAt };
}

function nothingApplied(problems: readonly RuleProblem[]): WaveApplied {
  const failures = problems.map(({ ref, message }) => ({ ref, message, isTemporary: false }));
  return { created: 0, changed: 0, unchanged: 0, overrides: [], failures };
}
