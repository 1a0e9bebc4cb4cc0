import { atOnce } from "../../../base/at-once.ts";
import type { Clock } from "../../../base/clock.ts";
import { withDeadline } from "../../../base/deadline.ts";
import type { ReleaseObject } from "../../../crds/kinds/release-content.ts";
import { ApiError } from "../../../kube/client/api-error.ts";
import type { Client } from "../../../kube/client/client.ts";
import type { RolloutAccess } from "../../access/rollout-access.ts";
import { type ReleaseRules, type RuleProblem, refOf, releaseProblems } from "../release-rules.ts";
import { RolloutAccounts } from "./accounts.ts";
import { applyObject, type Failure, isFailure, type Outcome, type Wish } from "./apply-object.ts";
import { type ApplySetPorts, coverMembers } from "./apply-set.ts";
import { detachObject } from "./detach.ts";
import type { Intent, Planned, Pruned, RolloutHands, WaveApplied, WaveHealth } from "./hands.ts";
import { waveHealth } from "./health/gate.ts";
import { withoutLater } from "./health/resource-rows.ts";
import { watchedObjects } from "./health/watched-objects.ts";
import { labelProblems, type Membership, membershipOf } from "./membership.ts";
import { dryRuns } from "./planning/dry-runs.ts";
import { planned, type Shown, toldOverride } from "./planning/plan.ts";
import { prune } from "./prune.ts";
import type { LiveObject, ReleaseApi } from "./release-api.ts";
import { type Deed, lackingRights, needsOf } from "./rights.ts";
import { ServedKinds } from "./served-kinds.ts";
import { AT_ONCE, isNamed, namespacesOf, outdated, type Target, type Targets, targetsOf } from "./targets.ts";

export interface HandsPorts extends ApplySetPorts {
  readonly access: RolloutAccess;
  /** The API server as the account with this token. */
  readonly clientFor: (token: string) => Pick<Client, "exchange">;
  readonly rules: Omit<ReleaseRules, "namespaces">;
  /** Throws when this process does not lead any more. */
  readonly fence: () => void;
  readonly clock: Clock;
}

/** How long a plan's account may do its dry runs. */
const PLAN_MS = 600_000;
/** To take a plan's account away, also when the plan was given up. */
const CLOSE_MS = 15_000;

const NOTHING: Shown = {
  created: [],
  adopted: [],
  changed: [],
  unchanged: 0,
  pruned: [],
  met: [],
  overrides: [],
  problems: [],
};

/** {@link RolloutHands} on a real API server. */
export class ClusterHands implements RolloutHands {
  readonly #ports: HandsPorts;
  readonly #accounts: RolloutAccounts;
  readonly #kinds = new ServedKinds();

  constructor(ports: HandsPorts) {
    this.#ports = ports;
    this.#accounts = new RolloutAccounts(ports);
  }

  async plan(intent: Intent, signal: AbortSignal): Promise<Planned> {
    const { clock, access, fence } = this.#ports;
    const { rollout } = intent;
    // What is only let go may be as it likes.
    const problems = rollout.spec.action === "detach" ? [] : this.#problems(intent);
    const [first, ...others] = namespacesOf([...intent.objects, ...outdated(intent)], intent);
    if (first === undefined) return planned(intent, { ...NOTHING, problems });
    const namespaces = [first, ...others] as const;
    const membership = this.#membership(intent);
    const wishFor = (target: Target): Omit<Wish, "isDryRun"> => wish(intent, target);
    const ports = { kinds: this.#kinds, membership, wishFor, clock };
    const end = async (): Promise<void> => {
      // Another process that leads now may be planning with the same account.
      fence();
      await withDeadline(clock, CLOSE_MS, new AbortController().signal, (closing) =>
        access.close(["plan"], rollout.metadata.uid, namespaces, closing),
      );
    };
    const until = new Date(clock.wallNow().getTime() + PLAN_MS);
    let shown: Shown;
    try {
      const api = await this.#accounts.open("plan", rollout, namespaces, until, signal);
      shown = await dryRuns(ports, api, intent, namespaces, problems, signal);
    } catch (error) {
      // What went wrong first says more; the sweep removes what is left.
      await end().catch(() => undefined);
      throw error;
    }
    await end();
    return planned(intent, shown);
  }

  async apply(intent: Intent, wave: number, until: Date, signal: AbortSignal): Promise<WaveApplied> {
    const lines = intent.objects.filter((line) => line.wave === wave);
    const refs = new Set(lines.map(({ manifest }) => refOf(manifest)));
    const problems = this.#problems(intent).filter(({ ref }) => refs.has(ref));
    if (lines.length === 0 || problems.length > 0) return nothingApplied(problems);
    await coverMembers(this.#ports, intent.rollout.spec.deploymentId, intent.objects, signal);
    const membership = this.#membership(intent);
    return this.#as("apply", intent, lines, until, signal, async (api, found) => {
      if (found.problems.length > 0) return nothingApplied(found.problems);
      const results = await atOnce(found.targets, AT_ONCE, (target) =>
        applyObject(api, membership, { ...wish(intent, target), isDryRun: false }, signal),
      );
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
      const watched = await watchedObjects(api, targets, (line, live) => wasKept(intent, line, live), signal);
      const health = waveHealth(watched, waveStartedAt, until, this.#ports.clock.wallNow());
      return { ...health, resources: withoutLater(health.resources, intent, wave) };
    });
  }

  async prune(intent: Intent, until: Date, signal: AbortSignal): Promise<Pruned> {
    const lines = outdated(intent);
    if (lines.length === 0) return { deleted: 0, waiting: 0, left: [] };
    return this.#as("prune", intent, lines, until, signal, (api, { targets }) =>
      prune(api, this.#membership(intent), intent.takeOver, targets, this.#ports.clock, signal),
    );
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

  async close(rolloutUid: string, namespaces: readonly string[], signal: AbortSignal): Promise<void> {
    this.#accounts.forget(rolloutUid);
    await this.#ports.access.close(["plan", "rollout"], rolloutUid, namespaces, signal);
  }

  #membership({ rollout }: Intent): Membership {
    return membershipOf(rollout, this.#ports.grantsNamespace);
  }

  /** What the rules of releases have against the objects; all of them are judged, because they name each other. */
  #problems(intent: Intent): readonly RuleProblem[] {
    const rules = { ...this.#ports.rules, namespaces: intent.namespaces };
    return [...releaseProblems(intent.objects, rules), ...labelProblems(intent.objects, this.#membership(intent))];
  }

  /** As the rollout's account in the namespaces of these objects. */
  #as<T>(
    deed: Deed,
    intent: Intent,
    lines: readonly ReleaseObject[],
    until: Date,
    signal: AbortSignal,
    work: (api: ReleaseApi, found: Targets) => Promise<T>,
  ): Promise<T> {
    const found = (api: ReleaseApi): Promise<Targets> => targetsOf(this.#kinds, api.exchange, lines, signal);
    return this.#accounts.as(
      intent.rollout,
      namespacesOf(lines, intent),
      until,
      signal,
      async (api) => work(api, await found(api)),
      async (api) => lackingRights(api.exchange, needsOf(deed, (await found(api)).targets), this.#ports.clock, signal),
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

function wish(intent: Intent, { line, resource }: Target): Omit<Wish, "isDryRun"> {
  const { manifest } = line;
  return { resource, manifest, takesOver: isNamed(intent.takeOver, manifest), isFrozen: keeps(intent, line) };
}

/** The setup is applied to what is there only while nothing is installed. */
function keeps({ formerRef }: Intent, { frozen }: ReleaseObject): boolean {
  return frozen && formerRef !== undefined;
}

/** It was there when the rollout began, and was left as it was. */
function wasKept(intent: Intent, line: ReleaseObject, { metadata }: LiveObject): boolean {
  const startedAt = Date.parse(intent.rollout.status?.startedAt ?? "");
  return keeps(intent, line) && Date.parse(metadata.creationTimestamp) < startedAt;
}

function nothingApplied(problems: readonly RuleProblem[]): WaveApplied {
  const failures = problems.map(({ ref, message }) => ({ ref, message, isTemporary: false }));
  return { created: 0, changed: 0, unchanged: 0, overrides: [], failures };
}
