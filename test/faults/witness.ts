import { join } from "node:path";
import { fileLogger } from "../../src/cli/process-logger.ts";
import { type AccessGrant, accessGrants } from "../../src/crds/access-grant.ts";
import { type OperationInvocation, operationInvocations } from "../../src/crds/operation-invocation.ts";
import { systemClock } from "../../src/kube/clock.ts";
import { Informer } from "../../src/kube/informer.ts";
import { jsonProjection } from "../../src/kube/projection.ts";
import { GRANTS, type World } from "./world.ts";

/** Steps of the protocol between agent and operator, as anybody with a watch sees them. */
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

/** Follows grants and invocations, and tells of each step the instant that the watch brings it. */
export class Witness {
  readonly grants: Informer<AccessGrant>;
  readonly invocations: Informer<OperationInvocation>;
  readonly #waiting = new Map<Moment, Set<() => void>>();

  constructor({ admin: client, folder }: Pick<World, "admin" | "folder">) {
    const log = fileLogger("witness", join(folder, "logs", "witness.log"));
    const shared = { client, namespace: GRANTS, clock: systemClock, log };
    this.grants = new Informer({ ...shared, resource: accessGrants, projection: jsonProjection<AccessGrant>() });
    this.invocations = new Informer({
      ...shared,
      resource: operationInvocations,
      projection: jsonProjection<OperationInvocation>(),
    });
    this.grants.onChange((change) => {
      if (change.type !== "deleted")
        this.#sawGrant(change.object, change.type === "updated" ? change.previous : undefined);
    });
    this.invocations.onChange((change) => {
      if (change.type === "deleted") return;
      const before = change.type === "updated" ? change.previous.status?.state : undefined;
      const after = change.object.status?.state;
      if (change.type === "added") this.#tell("invocation created");
      if (before === after) return;
      if (after === "Running") this.#tell("invocation running");
      else if (after !== undefined && after !== "Pending") this.#tell("invocation ended");
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.grants.run(signal), this.invocations.run(signal)]);
  }

  async whenSynced(signal: AbortSignal): Promise<void> {
    await Promise.all([this.grants.whenSynced(signal), this.invocations.whenSynced(signal)]);
  }

  grant(name: string): AccessGrant | undefined {
    return this.grants.store.get(`${GRANTS}/${name}`);
  }

  invocation(name: string): OperationInvocation | undefined {
    return this.invocations.store.get(`${GRANTS}/${name}`);
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
