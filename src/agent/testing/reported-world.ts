import { FakeClock } from "../../base/testing/fake-clock.ts";
import type { ResourceHeartbeat } from "../../contract/resources/resource-heartbeat.ts";
import { rowHash } from "../../contract/resources/resource-level.ts";
import { Interner } from "../../kube/projection/interner.ts";
import { deploymentShape } from "../../kube/projection/shapes.ts";
import { OBSERVED_KINDS } from "../kernel/observed-kinds.ts";
import type { ListState } from "../kernel/resource-metrics.ts";
import { type HiddenNames, PLAIN_NAMES } from "../names/names.ts";
import type { ReportPart } from "../observe/report-parts.ts";
import { ResourceReports } from "../observe/resource-reports.ts";
import { ofDeployment, type Workload } from "../observe/workload.ts";
import { NO_LOOKUPS } from "./no-lookups.ts";
import { ToldPlatform } from "./told-platform.ts";

const strings = new Interner();
const signal = new AbortController().signal;
/** The deployment that is reported. */
export const ID = "dep_1";
/** Its list of Deployments. */
export const SCOPE = "kubernetes:apps/v1:Deployment:shop";

function deployment(name: string, ready: number, replicas: number, labels: Record<string, string>): Workload {
  const metadata = {
    name,
    labels,
    namespace: "shop",
    uid: name,
    resourceVersion: "1",
    generation: 1,
    creationTimestamp: "2026-01-01T00:00:00Z",
  };
  const spec = { replicas, selector: { matchLabels: { app: name } }, template: { spec: { containers: [] } } };
  const status = {
    observedGeneration: 1,
    replicas,
    updatedReplicas: replicas,
    readyReplicas: ready,
    availableReplicas: ready,
  };
  return ofDeployment(deploymentShape.fromJson({ metadata, spec, status }, strings));
}

/** Deployments of one namespace, their reports, and the platform that is told. */
export class World {
  readonly clock = new FakeClock("2026-01-01T12:00:00Z");
  readonly objects = new Map<string, Workload>();
  readonly platform = new ToldPlatform();
  list: ListState = "read";
  /** Of each object from now on. */
  labels: Record<string, string> = {};
  readonly names: { hidden: HiddenNames | undefined; isStarting: boolean } = { ...PLAIN_NAMES };
  cluster: ((now: Date) => ResourceHeartbeat) | undefined;
  readonly nodes = { isStarting: false, isCurrent: true, heartbeat: (now: Date) => this.cluster?.(now) };
  readonly delays: number[] = [];
  /** Rows that were sent as changes although the platform had acknowledged the same. */
  repeats = 0;
  readonly #acknowledged = new Map<string, bigint>();
  readonly reports = new ResourceReports({
    workloads: {
      kinds: OBSERVED_KINDS,
      state: () => this.list,
      names: (namespace, kind) => (kind === "Deployment" && namespace === "shop" ? [...this.objects.keys()] : []),
      workload: ({ kind, name }) => (kind === "Deployment" ? this.objects.get(name) : undefined),
      relatedTo: () => {
        // A look takes time.
        this.clock.advance(1);
        return { pods: [] };
      },
    },
    lookups: NO_LOOKUPS,
    names: this.names,
    nodes: this.nodes,
    clock: this.clock,
    random: () => 0.5,
    metrics: {
      resources: () => undefined,
      collection: () => undefined,
      resourceResent: () => undefined,
      changeReported: (seconds) => void this.delays.push(seconds),
    },
  });

  set(name: string, ready: number | undefined, replicas = 3): void {
    if (ready === undefined) this.objects.delete(name);
    else this.objects.set(name, deployment(name, ready, replicas, this.labels));
    this.reports.changed(ID, { namespace: "shop", kind: "Deployment", name });
  }

  /** An event of an object that says nothing new, as a new list has for each. */
  again(name: string): void {
    const { counts } = this.objects.get(name) ?? {};
    if (counts !== undefined) this.set(name, counts.ready, counts.desired);
  }

  restart(): void {
    this.reports.forget(ID);
    this.#acknowledged.clear();
  }

  /** @param lose which parts do not arrive, or arrive without an answer. */
  async report(lose: (index: number) => "sent" | "lost" | "unanswered" = () => "sent", namespaces = ["shop"]) {
    this.clock.advance(1_000);
    const report = await this.reports.next(ID, namespaces, signal);
    for (const [index, part] of report.parts.entries()) {
      const fate = lose(index);
      this.#count(part, fate);
      if (fate === "lost") break;
      const resend = this.platform.store(structuredClone(part));
      if (fate === "unanswered") break;
      this.reports.acknowledged(ID, part, resend);
    }
    return report;
  }

  #count({ observedInventoryBatches }: ReportPart, fate: "sent" | "lost" | "unanswered"): void {
    for (const batch of observedInventoryBatches) {
      for (const id of batch.removed ?? []) this.#acknowledged.delete(id);
      for (const row of batch.resources) {
        const hash = rowHash(batch, row);
        const isRepeat = batch.mode === "delta" && this.#acknowledged.get(row.rawIdentity) === hash;
        this.repeats += isRepeat ? 1 : 0;
        if (fate === "sent") this.#acknowledged.set(row.rawIdentity, hash);
        else if (!isRepeat) this.#acknowledged.delete(row.rawIdentity);
      }
    }
  }

  rows(): readonly string[] {
    return [...(this.platform.scopes.get(SCOPE)?.rows.keys() ?? [])].map((id) => id.split(":").at(-1) ?? "").toSorted();
  }
}
