import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import type { Logger } from "../../src/base/log.ts";
import { fileLogger } from "../../src/cli/services/process-logger.ts";
import { type AccessGrant, accessGrants } from "../../src/crds/kinds/access-grant.ts";
import { type OperationInvocation, operationInvocations } from "../../src/crds/kinds/operation-invocation.ts";
import type { Change } from "../../src/kube/cache/cache.ts";
import { Informer } from "../../src/kube/cache/informer.ts";
import type { Client } from "../../src/kube/client/client.ts";
import type { KubeObject } from "../../src/kube/objects/resource.ts";
import { jsonProjection } from "../../src/kube/projection/projection.ts";
import { GRANTS } from "../world/people.ts";
import type { World } from "./world.ts";

/** Steps of the protocol between agent and operator, as a watch shows them. */
export const MOMENTS = [
  "grant created",
  "grant approved",
  "line claimed",
  "line ended",
  "grant over",
  "invocation created",
  "invocation running",
  "invocation ended",
] as const;
export type Moment = (typeof MOMENTS)[number];

interface Watches {
  readonly grants: Informer<AccessGrant>;
  readonly invocations: Informer<OperationInvocation>;
  readonly stop: AbortController;
}

/** Follows grants and invocations, and reports each step as soon as the watch shows it. */
export class Witness {
  readonly #client: Client;
  readonly #log: Logger;
  readonly #waiting = new Map<Moment, Set<() => void>>();
  #watches: Watches | undefined;

  constructor({ admin, folder }: Pick<World, "admin" | "folder">) {
    this.#client = admin;
    this.#log = fileLogger("witness", join(folder, "logs", "witness.log"));
  }

  /**
   * Watches until `signal` aborts. To be called again each time the API server is back: after many breaks a watch waits
   * half a minute before it reconnects, and stories wait for what it shows.
   */
  async look(signal: AbortSignal): Promise<void> {
    const watches = this.#open();
    const either = AbortSignal.any([signal, watches.stop.signal]);
    // An informer retries every failure, so only the abort ends it.
    for (const informer of [watches.grants, watches.invocations]) void informer.run(either);
    await Promise.all([watches.grants.whenSynced(either), watches.invocations.whenSynced(either)]);
    this.#watches?.stop.abort();
    this.#watches = watches;
  }

  get grants(): readonly AccessGrant[] {
    return this.#watches?.grants.store.list() ?? [];
  }

  get invocations(): readonly OperationInvocation[] {
    return this.#watches?.invocations.store.list() ?? [];
  }

  grant(name: string): AccessGrant | undefined {
    return this.#watches?.grants.store.get(`${GRANTS}/${name}`);
  }

  invocation(name: string): OperationInvocation | undefined {
    return this.#watches?.invocations.store.get(`${GRANTS}/${name}`);
  }

  /** True when it came; false when it did not within `limitMs`. */
  next(moment: Moment, limitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(moment) ?? new Set();
      this.#waiting.set(moment, waiting);
      const settle = (came: boolean): void => {
        waiting.delete(come);
        cancel();
        resolve(came);
      };
      const come = (): void => settle(true);
      const cancel = systemClock.after(limitMs, () => settle(false));
      waiting.add(come);
    });
  }

  #open(): Watches {
    const shared = { client: this.#client, namespace: GRANTS, clock: systemClock, log: this.#log };
    const grants = new Informer({ ...shared, resource: accessGrants, projection: jsonProjection<AccessGrant>() });
    const invocations = new Informer({
      ...shared,
      resource: operationInvocations,
      projection: jsonProjection<OperationInvocation>(),
    });
    grants.onChange((change) => {
      if (change.type === "deleted" || isOld(change)) return;
      this.#sawGrant(change.object, change.type === "updated" ? change.previous : undefined);
    });
    invocations.onChange((change) => {
      if (change.type === "deleted" || isOld(change)) return;
      const before = change.type === "updated" ? change.previous.status?.state : undefined;
      const after = change.object.status?.state;
      if (change.type === "added") this.#tell("invocation created");
      if (before === after) return;
      if (after === "Running") this.#tell("invocation running");
      else if (after !== undefined && after !== "Pending") this.#tell("invocation ended");
    });
    return { grants, invocations, stop: new AbortController() };
  }

  #sawGrant({ status }: AccessGrant, before: AccessGrant | undefined): void {
    if (before === undefined) this.#tell("grant created");
    const was = before?.status?.state ?? "Pending";
    const is = status?.state ?? "Pending";
    if (is !== was) this.#tell(is === "Approved" ? "grant approved" : "grant over");
    for (const line of status?.commands ?? []) {
      const lineWas = before?.status?.commands?.find(({ index }) => index === line.index)?.state;
      if (line.state === lineWas) continue;
      if (line.state === "Starting") this.#tell("line claimed");
      else if (["Succeeded", "Failed", "Unknown"].includes(line.state ?? "")) this.#tell("line ended");
    }
  }

  #tell(moment: Moment): void {
    for (const come of [...(this.#waiting.get(moment) ?? [])]) come();
  }
}

/** Whether the object existed before the watch began. */
function isOld(change: Change<KubeObject>): boolean {
  return change.type === "added" && change.initial;
}
