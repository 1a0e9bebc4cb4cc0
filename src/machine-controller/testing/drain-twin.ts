import { setImmediate as turn } from "node:timers/promises";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import type { MachineDrain, MachineDrainStatus } from "../../crds/kinds/machine-drain.ts";
import type { MachineJoin } from "../../crds/kinds/machine-join.ts";
import { timestamp } from "../../kube/objects/conditions.ts";
import { isSelected } from "../../kube/objects/label-match.ts";
import { keyOf } from "../../kube/objects/resource.ts";
import { cordonText } from "../drains/cordon.ts";
import { type CordonPorts, reconcileCordon } from "../drains/cordon-reconciler.ts";
import { DrainMemory } from "../drains/drain-memory.ts";
import { type DrainPorts, reconcileDrain } from "../drains/drain-reconciler.ts";
import { graceSecondsOf } from "../drains/pods.ts";
import { type DrainRules, STRICT_RULES } from "../drains/rules.ts";
import type { Budget, DrainNode, DrainPod } from "../drains/shapes.ts";
import { budgetRefusal, checkRules, refusal } from "./api-server-words.ts";
import { SYSTEM } from "./drain-fixtures.ts";

/** The process ends here: what it remembered is gone. */
class Crash extends Error {
  override readonly name = "Crash";
}

const MARK = "sallyport.dev/cordoned-by";
const NEVER = new AbortController().signal;

/**
 * A cluster in memory, as much of one as a drain touches: it answers evictions as the API server does, its kubelets end
 * pods when their grace is over, and it refuses a status that the kind's rules refuse.
 */
export class DrainTwin {
  readonly clock = new FakeClock();
  readonly nodes = new Map<string, DrainNode>();
  readonly pods = new Map<string, DrainPod>();
  readonly budgets = new Map<string, Budget>();
  readonly drains = new Map<string, MachineDrain>();
  readonly joins = new Map<string, MachineJoin>();
  /** Of every node. */
  rules: DrainRules;
  obstacle: string | undefined;
  isOfItsMachine = true;
  /** In order, as `verb name`. */
  readonly effects: string[] = [];
  readonly news: string[] = [];
  /** The process ends at this effect: `before` it happens, or `after`, so that only its answer is lost. */
  crash: { readonly at: number; readonly when: "before" | "after" } | undefined;
  crashes = 0;
  /** How long after a pod has gone another one is ready in its place, for its budget. */
  replacedAfterMs = 3_000;
  own = { namespace: SYSTEM, name: "machines-0" };
  #memory = new DrainMemory(() => 0.5);
  #versions = 1;

  constructor(
    has: {
      readonly nodes?: readonly DrainNode[];
      readonly pods?: readonly DrainPod[];
      readonly budgets?: readonly Budget[];
      readonly drains?: readonly MachineDrain[];
      readonly rules?: Partial<DrainRules>;
    } = {},
  ) {
    const { nodes = [], pods = [], budgets = [], drains = [], rules } = has;
    for (const each of nodes) this.nodes.set(each.metadata.name, each);
    for (const each of pods) this.pods.set(keyOf(each), each);
    for (const each of budgets) this.budgets.set(keyOf(each), each);
    for (const each of drains) this.drains.set(keyOf(each), each);
    this.rules = { ...STRICT_RULES, ...rules };
  }

  drain(name: string): MachineDrain {
    const found = this.drains.get(`sallyport-grants/${name}`);
    if (found === undefined) throw new Error(`no drain ${name}`);
    return found;
  }

  status(name: string): MachineDrainStatus {
    return this.drain(name).status ?? {};
  }

  node(name: string): DrainNode {
    const found = this.nodes.get(name);
    if (found === undefined) throw new Error(`no node ${name}`);
    return found;
  }

  /** One look at everything, then some time. @param workers that look at drains at once: one, or one for each */
  async round(ms = 500, workers: "one" | "many" = "one"): Promise<void> {
    const looks: Promise<void>[] = [];
    for (const key of [...this.drains.keys()].sort()) {
      looks.push(this.#survive(() => reconcileDrain(key, this.#ports(), context())));
      if (workers === "one") await looks.at(-1);
    }
    await Promise.all(looks);
    for (const name of [...this.nodes.keys()].sort())
      await this.#survive(() => reconcileCordon(name, this.#cordonPorts(), context()));
    await this.pass(ms);
  }

  async rounds(count: number, ms?: number): Promise<void> {
    for (let round = 0; round < count; round += 1) await this.round(ms);
  }

  /** Time passes, and kubelets end what is over. */
  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    const now = this.clock.wallNow().getTime();
    for (const [key, { metadata }] of this.pods) {
      if (metadata.deletionTimestamp === undefined || Date.parse(metadata.deletionTimestamp) > now) continue;
      if (metadata.finalizers.length > 0) continue;
      const gone = this.pods.get(key);
      this.pods.delete(key);
      if (gone !== undefined) for (const budget of this.#budgetsOf(gone)) this.#replacedLater(budget);
    }
    await turn();
  }

  /** What may not depend on when the process ended: all but times and how often something was asked. */
  fingerprint(): unknown {
    return {
      nodes: [...this.nodes.values()].map(({ metadata, spec }) => [metadata.name, metadata.annotations, spec]),
      pods: [...this.pods.keys()].sort(),
      drains: [...this.drains.values()].map(({ metadata, status }) => [
        metadata.name,
        status?.state,
        status?.cordonedByUs,
        status?.left,
        // A process that begins anew takes time: what ended just before its deadline may end just after it.
        status?.conditions
          ?.filter(({ type }) => type !== "DeadlineExceeded")
          .map(({ type, status: is, reason }) => [type, is, reason])
          .sort(),
      ]),
      joins: [...this.joins.values()].map(({ metadata, status }) => [metadata.name, metadata.labels, status?.state]),
    };
  }

  async #survive(run: () => Promise<unknown>): Promise<void> {
    try {
      await run();
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
      this.crashes += 1;
      this.#memory = new DrainMemory(() => 0.5);
    }
  }

  #effect<T>(name: string, happens: () => T): T {
    const crash = this.crash?.at === this.effects.length + this.crashes ? this.crash : undefined;
    if (crash !== undefined) this.crash = undefined;
    if (crash?.when === "before") throw new Crash();
    this.effects.push(name);
    try {
      return happens();
    } finally {
      // Also of a refusal the answer is lost.
      // biome-ignore lint/correctness/noUnsafeFinally: that is what ends a process.
      if (crash?.when === "after") throw new Crash();
    }
  }

  #ports(): DrainPorts {
    return {
      ...{ clock: this.clock, fence: () => undefined, memory: this.#memory, own: this.own },
      keptNamespaces: ["kube-system", SYSTEM],
      drain: (key) => this.drains.get(key),
      drains: () => this.drains.values(),
      node: (name) => this.nodes.get(name),
      podsOn: (name) => [...this.pods.values()].filter(({ spec }) => spec.nodeName === name),
      budgetsOf: (pod) => this.#budgetsOf(pod),
      rulesFor: () => this.rules,
      isOfItsMachine: () => this.isOfItsMachine,
      obstacle: () => this.obstacle,
      liveNode: async (name) => this.nodes.get(name),
      livePodsOn: async (name) => [...this.pods.values()].filter(({ spec }) => spec.nodeName === name),
      writeNode: this.#writeNode,
      evict: async (pod) => this.#effect(`evict ${keyOf(pod)}`, () => this.#evict(pod)),
      deletePod: async (pod, grace) => this.#effect(`delete ${keyOf(pod)} ${grace}s`, () => this.#end(pod, grace)),
      writeStatus: async (drain, status) =>
        this.#effect(`status ${status.state}`, () => this.#writeStatus(drain, status)),
      liveJoins: async (name) =>
        [...this.joins.values()].filter(({ spec, status }) => spec.nodeName === name && status?.state !== "Removed"),
      markRemoved: async (join) => {
        const labelled = { ...join, metadata: { ...join.metadata, labels: { "sallyport.dev/removed": "true" } } };
        this.#effect(`label ${join.metadata.name}`, () => this.joins.set(join.metadata.name, labelled));
        const removed = { ...labelled, status: { ...join.status, state: "Removed" as const } };
        this.#effect(`removed ${join.metadata.name}`, () => this.joins.set(join.metadata.name, removed));
      },
      deleteNode: async ({ metadata }) =>
        void this.#effect(`delete node ${metadata.name}`, () => this.nodes.delete(metadata.name)),
      publisher: {
        cordoned: () => void this.news.push("Cordoned"),
        asked: (_, act, answer) => void this.news.push(`${act.do} ${keyOf(act.pod)}: ${answer.is}`),
        became: ({ status }, from) => void this.news.push(`${from} → ${status?.state}`),
      },
    };
  }

  #cordonPorts(): CordonPorts {
    return {
      fence: () => undefined,
      node: (name) => this.nodes.get(name),
      drains: () => this.drains.values(),
      liveNode: async (name) => this.nodes.get(name),
      liveDrainsOf: async (name) => [...this.drains.values()].filter(({ spec }) => spec.nodeName === name),
      writeNode: this.#writeNode,
      uncordoned: (name) => void this.news.push(`Uncordoned ${name}`),
    };
  }

  readonly #writeNode: DrainPorts["writeNode"] = async (node, cordon, unschedulable) => {
    const { name } = node.metadata;
    this.#effect(`${unschedulable ? "cordon" : "uncordon"} ${name}`, () => {
      const annotations = cordon === undefined ? {} : { [MARK]: cordonText(cordon) };
      this.nodes.set(name, { ...node, metadata: { ...node.metadata, annotations }, spec: { unschedulable } });
    });
  };

  #evict(pod: DrainPod): boolean {
    const stored = this.pods.get(keyOf(pod));
    if (stored === undefined) return false;
    if (stored.metadata.deletionTimestamp === undefined) {
      const budgets = this.#budgetsOf(stored);
      if (budgets.length > 1)
        throw refusal(
          500,
          "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
        );
      const [budget] = budgets;
      if (budget !== undefined && stored.status.conditions) {
        if (budget.status.disruptionsAllowed <= 0) throw budgetRefusal(budget);
        this.#allow(budget, -1);
      }
    }
    return this.#end(pod, graceSecondsOf(stored));
  }

  #end(pod: DrainPod, graceSeconds: number): boolean {
    const stored = this.pods.get(keyOf(pod));
    if (stored === undefined) return false;
    if (stored.metadata.uid !== pod.metadata.uid) throw refusal(409, "Precondition failed: UID", "Conflict");
    const { deletionTimestamp: before } = stored.metadata;
    const at = timestamp(new Date(this.clock.wallNow().getTime() + graceSeconds * 1_000));
    const deletionTimestamp = before !== undefined && before < at ? before : at;
    const metadata = { ...stored.metadata, deletionTimestamp, deletionGracePeriodSeconds: graceSeconds };
    this.pods.set(keyOf(pod), { ...stored, metadata });
    return true;
  }

  #writeStatus(drain: MachineDrain, status: MachineDrainStatus): MachineDrain {
    const key = keyOf(drain);
    const before = this.drains.get(key);
    if (before === undefined) throw refusal(404, "not found", "NotFound");
    if (before.metadata.resourceVersion !== drain.metadata.resourceVersion) throw refusal(409, "changed", "Conflict");
    checkRules(before.status ?? {}, status);
    this.#versions += 1;
    const stored = { ...before, metadata: { ...before.metadata, resourceVersion: String(this.#versions) }, status };
    this.drains.set(key, stored);
    return stored;
  }

  #budgetsOf({ metadata }: DrainPod): readonly Budget[] {
    return [...this.budgets.values()].filter(
      (each) =>
        each.metadata.namespace === metadata.namespace &&
        each.spec.selector !== undefined &&
        isSelected(each.spec.selector, metadata.labels),
    );
  }

  /** Lets more or fewer of the budget's pods go. */
  allow(name: string, by: number): void {
    const found = this.budgets.get(name);
    if (found === undefined) throw new Error(`no budget ${name}`);
    this.#allow(found, by);
  }

  #allow({ metadata }: Budget, by: number): void {
    const key = keyOf({ metadata });
    const budget = this.budgets.get(key);
    if (budget === undefined) return;
    this.#versions += 1;
    const disruptionsAllowed = budget.status.disruptionsAllowed + by;
    this.budgets.set(key, {
      ...budget,
      metadata: { ...metadata, resourceVersion: String(this.#versions) },
      status: { ...budget.status, disruptionsAllowed },
    });
  }

  #replacedLater(budget: Budget): void {
    this.clock.after(this.replacedAfterMs, () => this.#allow(budget, 1));
  }
}

function context(): Parameters<typeof reconcileDrain>[2] {
  return { signal: NEVER, log: silentLogger, reconcileId: "test" };
}
