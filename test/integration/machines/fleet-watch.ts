import { readFileSync } from "node:fs";
import { systemClock } from "../../../src/base/clock.ts";
import { silentLogger } from "../../../src/base/log.ts";
import { type MachineDrain, machineDrains } from "../../../src/crds/kinds/machine-drain.ts";
import { Informer } from "../../../src/kube/cache/informer.ts";
import type { Cached } from "../../../src/kube/cache/store.ts";
import type { Client } from "../../../src/kube/client/client.ts";
import { resources } from "../../../src/kube/objects/resource.ts";
import { jsonProjection } from "../../../src/kube/projection/projection.ts";
import { type DrainPod, drainPodShape } from "../../../src/machine-controller/drains/shapes.ts";
import { GRANTS, SHOP } from "../../world/people.ts";
import { signal } from "../../world/wait.ts";
import { WATCHED } from "./fleet.ts";

/**
 * Sees each change of the drained nodes' evictable pods, in the order in which the API server made them, and with it
 * whether a workload ever had fewer healthy pods than its budget asks for.
 */
export class FleetWatch {
  /** `held-0: 9 of 10`, each time that a budget was broken. */
  readonly broken: string[] = [];
  readonly #drains: Informer<MachineDrain>;
  readonly #pods: Informer<DrainPod>;
  readonly #healthy = new Map<string, string>();
  readonly #floors = new Map<string, number>();
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;

  constructor(client: Client) {
    const common = { client, clock: systemClock, log: silentLogger };
    this.#pods = new Informer({
      ...{ ...common, resource: resources.pods, projection: drainPodShape },
      ...{ namespace: SHOP, labelSelector: WATCHED },
    });
    const projection = jsonProjection<MachineDrain>();
    this.#drains = new Informer({ ...common, resource: machineDrains, projection, namespace: GRANTS });
    this.#pods.onChange(({ type, object }) => this.#see(object, type === "deleted"));
    this.#running = Promise.allSettled([this.#pods.run(this.#stop.signal), this.#drains.run(this.#stop.signal)]);
  }

  async synced(): Promise<void> {
    await Promise.all([this.#pods.whenSynced(signal()), this.#drains.whenSynced(signal())]);
  }

  /** From now on a workload has no fewer healthy pods. */
  require(app: string, healthy: number): void {
    this.#floors.set(app, healthy);
    this.#check(app);
  }

  healthyOf(app: string): number {
    return [...this.#healthy.values()].filter((each) => each === app).length;
  }

  /** Pods of these nodes that a drain must evict. */
  leftOn(nodes: readonly string[]): readonly string[] {
    const all = [...this.#pods.store.values()];
    return all.filter(({ spec }) => nodes.includes(spec.nodeName)).map(({ metadata }) => metadata.name);
  }

  whenHealthy(app: string, is: (count: number) => boolean): Promise<void> {
    const left = (): string => `${app}: ${this.healthyOf(app)} healthy`;
    return until(this.#pods, () => is(this.healthyOf(app)), left);
  }

  whenDrains(are: (drains: readonly MachineDrain[]) => boolean): Promise<void> {
    const all = (): readonly MachineDrain[] => [...this.#drains.store.values()];
    const said = (): string =>
      all()
        .map(({ spec, status }) => `${spec.nodeName} ${status?.state} ${status?.left} ${status?.summary}`)
        .join("\n");
    return until(this.#drains, () => are(all()), said);
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("test over"));
    await this.#running;
  }

  #see({ metadata, status }: DrainPod, isDeleted: boolean): void {
    const { uid, labels, deletionTimestamp } = metadata;
    const app = labels.app ?? "";
    if (isDeleted || deletionTimestamp !== undefined || !status.conditions) this.#healthy.delete(uid);
    else this.#healthy.set(uid, app);
    this.#check(app);
  }

  #check(app: string): void {
    const floor = this.#floors.get(app);
    if (floor === undefined) return;
    const healthy = this.healthyOf(app);
    if (healthy < floor) this.broken.push(`${app}: ${healthy} of ${floor}`);
  }
}

const LIMIT_MS = 300_000;

/** Resolves at the change after which it is so. @param seen for the message when it never is */
function until<T extends Cached>(informer: Informer<T>, is: () => boolean, seen: () => string): Promise<void> {
  return new Promise((resolve, reject) => {
    const ends: (() => void)[] = [];
    const end = (settle: () => void): void => {
      for (const each of ends) each();
      settle();
    };
    const look = (): void => {
      if (is()) end(resolve);
    };
    const give = (): void => end(() => reject(new Error(`it did not come to pass within ${LIMIT_MS} ms:\n${seen()}`)));
    const late = setTimeout(give, LIMIT_MS);
    ends.push(informer.onChange(look), () => clearTimeout(late));
    look();
  });
}

interface AuditEvent {
  readonly verb: string;
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string; readonly name?: string };
  readonly responseStatus?: { readonly code?: number };
}

/** Of the API server's audit log: what the machine controllers asked for. */
export function auditOf(user: string): object {
  return {
    ...{ apiVersion: "audit.k8s.io/v1", kind: "Policy", omitStages: ["RequestReceived", "ResponseStarted"] },
    rules: [{ level: "Metadata", users: [user] }, { level: "None" }],
  };
}

export interface Asked {
  /** `create pods/eviction` */
  readonly what: string;
  readonly name: string;
  readonly code: number;
}

export function askedIn(auditLog: string): readonly Asked[] {
  const lines = readFileSync(auditLog, "utf8").trimEnd().split("\n");
  return lines
    .map((line) => JSON.parse(line) as AuditEvent)
    .map(({ verb, objectRef: { resource = "", subresource, name = "" } = {}, responseStatus }) => ({
      what: `${verb} ${subresource === undefined ? resource : `${resource}/${subresource}`}`,
      name,
      code: responseStatus?.code ?? 0,
    }));
}
