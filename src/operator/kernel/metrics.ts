import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { type AccessGrant, GRANT_STATES, type GrantState } from "../../crds/kinds/access-grant.ts";
import { MUTATING_POLICIES, VALIDATING_POLICIES } from "../../crds/manifests/admission/admission.ts";
import { DEBUG_VALIDATING_POLICIES } from "../../crds/manifests/admission/debug-admission.ts";
import { OPERATIONS } from "../../crds/operations/catalog.ts";
import { REDACTION_RULES, type RedactionRule } from "../../crds/redact.ts";
import { type PolicyReading, requiredPolicies } from "../gate/enforcement.ts";
import { REFUSALS, type Refusal } from "../gate/gate.ts";

/** How an operation ended. `held`: refused by the gate; `unknown`: it may or may not have happened. */
export const OPERATION_RESULTS = ["success", "held", "failed", "expired", "timeout", "unknown"] as const;
export type OperationOutcome = (typeof OPERATION_RESULTS)[number];

const SWEEP_RESULTS = ["ok", "failed"] as const;
const SWEPT_KINDS = ["ServiceAccount", "RoleBinding", "ClusterRoleBinding"] as const;
export type SweptKind = (typeof SWEPT_KINDS)[number];

/** Where a grant may come from and go to; `none` is its first visit. Everything else cannot happen. */
const TRANSITIONS = GRANT_STATES.flatMap((to) =>
  (["none", "Pending", "Approved"] as const).filter((from) => from !== to).map((from) => ({ from, to })),
);

/** Named by what this operator has; anything else is one series, so that a label never comes from outside. */
const KNOWN = new Map(OPERATIONS.map(({ command, plugin, name }) => [command, { plugin, operation: name }]));
const OTHER = { plugin: "other", operation: "other" };
/** Of plugins, all as one: their names are the vendor's. */
const CUSTOM = { plugin: "custom", operation: "custom" };

/** What the install values say of plugins. */
interface PluginFacts {
  readonly isEnabled: (command: string) => boolean;
  /** How many of them cannot run. */
  readonly problems: number;
}

/** What is read of a grant to count it. */
export type CountedGrant = Pick<AccessGrant, "metadata" | "spec" | "status">;

/** What the rest of the operator may do to metrics: verbs with typed arguments, no label objects. */
export interface OperatorMetrics {
  /** @param seconds from claim to result; undefined when it never started. */
  operationEnded(command: string, outcome: OperationOutcome, seconds?: number): void;
  operationStarted(command: string): void;
  /** With any outcome: it is no longer in progress here. */
  operationLeft(command: string): void;
  refused(reason: Refusal): void;
  /** A claim lost to another process: the exactly-once rule at work. */
  claimLost(): void;
  transition(from: GrantState | "none", to: GrantState): void;
  policies(reading: PolicyReading): void;
  redacted(rule: RedactionRule): void;
  swept(result: (typeof SWEEP_RESULTS)[number], at: Date): void;
  removed(kind: SweptKind): void;
}

/**
 * The operator's own series, each at 0 from the start. Reconciles, queues and the client have client-go's names and
 * belong to the Kubernetes runtime.
 *
 * @param read asked at each scrape: the grants in the cache, whether this replica leads, and the time.
 */
export function operatorMetrics(
  registry: Registry,
  read: {
    readonly grants: () => Iterable<CountedGrant>;
    readonly isLeader: () => boolean;
    readonly now: () => Date;
    /** Default: no plugins. */
    readonly plugins?: PluginFacts;
  },
): OperatorMetrics {
  const { plugins = { isEnabled: () => false, problems: 0 } } = read;
  leaderGauge(registry, read.isLeader);
  pluginGauge(registry, plugins);
  grantGauges(registry, read);
  return {
    ...operationSeries(registry, plugins.isEnabled),
    ...grantSeries(registry),
    ...safetySeries(registry),
    ...sweepSeries(registry),
  };
}

function counter<L extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly L[],
): Counter<L> {
  return new Counter({ name, help, labelNames: [...labelNames], registers: [registry] });
}

function leaderGauge(registry: Registry, isLeader: () => boolean): void {
  new Gauge({
    name: "sallyport_operator_leader",
    help: "Does this replica act? 1 on exactly one of them.",
    registers: [registry],
    collect() {
      this.set(isLeader() ? 1 : 0);
    },
  });
}

function grantGauges(
  registry: Registry,
  { grants, now }: { readonly grants: () => Iterable<CountedGrant>; readonly now: () => Date },
): void {
  new Gauge({
    name: "sallyport_grants",
    help: "Access grants by state: who is waiting, what is open?",
    labelNames: ["state"],
    registers: [registry],
    collect() {
      const counts = new Map<GrantState, number>(GRANT_STATES.map((state) => [state, 0]));
      for (const { status } of grants()) {
        const state = status?.state ?? "Pending";
        counts.set(state, (counts.get(state) ?? 0) + 1);
      }
      for (const [state, count] of counts) this.set({ state }, count);
    },
  });
  new Gauge({
    name: "sallyport_grants_pending_late",
    help: "Grants that wait for a decision with more than half of their time gone. Approvers may not have noticed them.",
    registers: [registry],
    collect() {
      this.set([...grants()].filter((grant) => isLate(grant, now().getTime())).length);
    },
  });
}

function isLate({ metadata, spec, status }: CountedGrant, nowMs: number): boolean {
  const askedMs = Date.parse(metadata.creationTimestamp);
  return (status?.state ?? "Pending") === "Pending" && nowMs - askedMs > (Date.parse(spec.decideBefore) - askedMs) / 2;
}

type OperationMetrics = Pick<OperatorMetrics, "operationEnded" | "operationStarted" | "operationLeft">;

function pluginGauge(registry: Registry, { problems }: PluginFacts): void {
  new Gauge({
    name: "sallyport_plugin_problems",
    help: "Operations of plugins that the install values enable and that cannot run: the image has them not, in another version, or with more rules. The log and the condition Permitted of requests name them.",
    registers: [registry],
    collect() {
      this.set(problems);
    },
  });
}

function operationSeries(registry: Registry, isOfPlugin: PluginFacts["isEnabled"]): OperationMetrics {
  const total = counter(
    registry,
    "sallyport_operations_total",
    "Ended operations by result: what was asked, and did it happen?",
    ["plugin", "operation", "result"],
  );
  const duration = new Histogram({
    name: "sallyport_operation_duration_seconds",
    help: "From claim to result.",
    labelNames: ["plugin", "operation"],
    // One API call is 25 ms, an operation a handful of them, the longest time limit a minute.
    buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60],
    registers: [registry],
  });
  const running = new Gauge({
    name: "sallyport_operations_in_progress",
    help: "Operations running now.",
    labelNames: ["plugin"],
    registers: [registry],
  });
  for (const labels of [...KNOWN.values(), CUSTOM, OTHER]) {
    for (const result of OPERATION_RESULTS) total.inc({ ...labels, result }, 0);
    duration.zero(labels);
    running.set({ plugin: labels.plugin }, 0);
  }
  const named = (command: string): { plugin: string; operation: string } =>
    KNOWN.get(command) ?? (isOfPlugin(command) ? CUSTOM : OTHER);
  return {
    operationEnded(command, result, seconds) {
      total.inc({ ...named(command), result });
      if (seconds !== undefined) duration.observe(named(command), seconds);
    },
    operationStarted: (command) => running.inc({ plugin: named(command).plugin }),
    operationLeft: (command) => running.dec({ plugin: named(command).plugin }),
  };
}

function grantSeries(registry: Registry): Pick<OperatorMetrics, "transition" | "refused" | "claimLost"> {
  const transitions = counter(registry, "sallyport_grant_transitions_total", "Changes of a grant's state.", [
    "from",
    "to",
  ]);
  const refused = counter(registry, "sallyport_refused_total", "Commands that the gate refused, by reason.", [
    "reason",
  ]);
  const conflicts = counter(
    registry,
    "sallyport_operation_lease_conflicts_total",
    "Claims of a plan line or an invocation that lost to another writer.",
    [],
  );
  for (const labels of TRANSITIONS) transitions.inc(labels, 0);
  for (const reason of REFUSALS) refused.inc({ reason }, 0);
  return {
    transition: (from, to) => transitions.inc({ from, to }),
    refused: (reason) => refused.inc({ reason }),
    claimLost: () => conflicts.inc(),
  };
}

function safetySeries(registry: Registry): Pick<OperatorMetrics, "policies" | "redacted"> {
  const names = [...VALIDATING_POLICIES, ...MUTATING_POLICIES];
  const present = new Gauge({
    name: "sallyport_policies_present",
    help: "Is each admission policy there, with a binding that denies? 0 also before the first look; gone where rbac.selfCheck is off.",
    labelNames: ["policy"],
    registers: [registry],
  });
  const redactions = counter(registry, "sallyport_redactions_total", "Pieces of text taken out of results.", [
    "kind",
    "rule",
  ]);
  const required = new Gauge({
    name: "sallyport_policies_required",
    help: "Does admission.mode, on this API server, need the policy? Where it is 1 and sallyport_policies_present is 0, one is missing.",
    labelNames: ["policy"],
    registers: [registry],
  });
  for (const rule of REDACTION_RULES) redactions.inc({ kind: "result", rule }, 0);
  const policies = (reading: PolicyReading): void => {
    for (const policy of [...names, ...DEBUG_VALIDATING_POLICIES]) {
      setOrRemove(present, policy, reading.presence[policy]);
      setOrRemove(required, policy, reading.required[policy]);
    }
  };
  // Until the first look: an operator that never manages one still has the alert fire for what every mode needs.
  policies({ presence: Object.fromEntries(names.map((name) => [name, false])), required: requiredPolicies(false) });
  return { policies, redacted: (rule) => redactions.inc({ kind: "result", rule }) };
}

/** @param isSo undefined: it is not known, and a value would be taken for one */
function setOrRemove(gauge: Gauge<"policy">, policy: string, isSo: boolean | undefined): void {
  if (isSo === undefined) gauge.remove({ policy });
  else gauge.set({ policy }, isSo ? 1 : 0);
}

function sweepSeries(registry: Registry): Pick<OperatorMetrics, "swept" | "removed"> {
  const sweeps = counter(registry, "sallyport_access_sweeps_total", "Runs of the sweep for left-over access.", [
    "result",
  ]);
  const removed = counter(registry, "sallyport_access_removed_total", "Left-over access that the sweep removed.", [
    "kind",
  ]);
  const last = new Gauge({
    name: "sallyport_access_sweep_last_success_timestamp_seconds",
    help: "When the sweep last succeeded; 0 before the first.",
    registers: [registry],
  });
  for (const result of SWEEP_RESULTS) sweeps.inc({ result }, 0);
  for (const kind of SWEPT_KINDS) removed.inc({ kind }, 0);
  return {
    swept(result, at) {
      sweeps.inc({ result });
      if (result === "ok") last.set(at.getTime() / 1_000);
    },
    removed: (kind) => removed.inc({ kind }),
  };
}
