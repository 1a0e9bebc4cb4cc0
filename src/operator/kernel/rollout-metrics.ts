import { Gauge, Histogram, type Registry } from "prom-client";
import { closedCounter } from "../../base/closed-series.ts";
import { installedRelease } from "../../crds/kinds/installed-release.ts";
import {
  FINAL_ROLLOUT_STATES,
  type FinalRolloutState,
  ROLLOUT_ACTIONS,
  ROLLOUT_STATES,
  type Rollout,
  type RolloutAction,
} from "../../crds/kinds/rollout.ts";
import { RELEASE_RESOURCES } from "../../crds/released/release-kinds.ts";

/** The dry runs; from asked for to begun; a wave until it is healthy; from begun to its end. */
const PHASES = ["plan", "wait", "gate", "run"] as const;
export type RolloutPhase = (typeof PHASES)[number];

const VERBS = ["create", "change", "prune", "unchanged", "override", "left"] as const;

interface Applied {
  readonly created: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly overrides: readonly { readonly ref: string }[];
}

/** What the rest of the operator may do to the metrics of rollouts. */
export interface RolloutMetrics {
  planned(seconds: number): void;
  applied(wave: Applied): void;
  /** @param left what was to go, and stays */
  pruned(deleted: number, left: number): void;
  phase(phase: RolloutPhase, seconds: number): void;
  ended(action: RolloutAction, result: FinalRolloutState): void;
}

/** @param rollouts asked at each scrape: those in the cache */
export function rolloutMetrics(registry: Registry, rollouts: () => Iterable<Rollout>): RolloutMetrics {
  rolloutGauge(registry, rollouts);
  driftGauge(registry, rollouts);
  const ended = closedCounter(registry, "sallyport_rollouts_total", "Rollouts that ended, by action and result.", {
    action: ROLLOUT_ACTIONS,
    result: FINAL_ROLLOUT_STATES,
  });
  const objects = closedCounter(
    registry,
    "sallyport_rollout_objects_total",
    "Objects of releases by what was done: created, changed, deleted, left as they were, left with fields of others; left: was to be deleted, and stays.",
    { verb: VERBS },
  );
  const conflicts = closedCounter(
    registry,
    "sallyport_rollout_conflicts_total",
    "Fields of a release that stayed as another manager has them.",
    {},
  );
  const duration = new Histogram({
    name: "sallyport_rollout_duration_seconds",
    help: "How long rollouts take, by phase: the plan, the wait for approval and window, a wave's gate, from begun to ended.",
    labelNames: ["phase"],
    // A plan takes a second, a gate minutes, a rollout two hours at most.
    buckets: [0.5, 2, 10, 30, 60, 300, 900, 3_600, 7_200],
    registers: [registry],
  });
  for (const phase of PHASES) duration.zero({ phase });
  return {
    planned: (seconds) => duration.observe({ phase: "plan" }, seconds),
    applied({ created, changed, unchanged, overrides }) {
      objects.inc({ verb: "create" }, created);
      objects.inc({ verb: "change" }, changed);
      objects.inc({ verb: "unchanged" }, unchanged);
      objects.inc({ verb: "override" }, new Set(overrides.map(({ ref }) => ref)).size);
      conflicts.inc(overrides.length);
    },
    pruned(deleted, left) {
      objects.inc({ verb: "prune" }, deleted);
      objects.inc({ verb: "left" }, left);
    },
    phase: (phase, seconds) => duration.observe({ phase }, Math.max(seconds, 0)),
    ended: (action, result) => ended.inc({ action, result }),
  };
}

function rolloutGauge(registry: Registry, rollouts: () => Iterable<Rollout>): void {
  new Gauge({
    name: "sallyport_rollouts",
    help: "Rollouts by state: who is waiting, what is being changed?",
    labelNames: ["state"],
    registers: [registry],
    collect() {
      const counts = new Map<string, number>(ROLLOUT_STATES.map((state) => [state, 0]));
      for (const { status } of rollouts()) {
        const state = status?.state ?? "Planning";
        counts.set(state, (counts.get(state) ?? 0) + 1);
      }
      for (const [state, count] of counts) this.set({ state }, count);
    },
  });
}

function driftGauge(registry: Registry, rollouts: () => Iterable<Rollout>): void {
  const kinds = Object.keys(RELEASE_RESOURCES);
  new Gauge({
    name: "sallyport_drift",
    help: "Objects of installed releases that others have changed or deleted, by kind: what does the next rollout find?",
    labelNames: ["kind"],
    registers: [registry],
    collect() {
      const counts = new Map<string, number>(kinds.map((kind) => [kind, 0]));
      const deployments = Map.groupBy(rollouts(), ({ spec }) => spec.deploymentId);
      for (const all of deployments.values()) {
        const { drift = [] } = installedRelease(all)?.rollout.status ?? {};
        for (const ref of new Set(drift.map((each) => each.ref))) {
          const [kind = ""] = ref.split("/", 1);
          const count = counts.get(kind);
          if (count !== undefined) counts.set(kind, count + 1);
        }
      }
      for (const [kind, count] of counts) this.set({ kind }, count);
    },
  });
}
