import { clamped, PEER_NUMBERS } from "../../base/peer-numbers.ts";
import type { Client } from "../client/client.ts";
import { microTime } from "../objects/micro-time.ts";
import { apiVersionOf, type KubeObject, type NewObject, resources } from "../objects/resource.ts";

/** `coordination.k8s.io/v1` Lease, the fields of an election. All are optional in the API. */
export interface LeaseSpec {
  /** `""` or absent: free. */
  readonly holderIdentity?: string;
  /** How long others wait after they last saw the lease change. */
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  /** For people. Never compared: it is another machine's clock. */
  readonly renewTime?: string;
  /** Grows with each new holder. */
  readonly leaseTransitions?: number;
}

export interface Lease extends KubeObject {
  readonly spec?: LeaseSpec;
}

/** The part of the client that an election uses. */
export type LeaseClient = Pick<Client, "get" | "create" | "replace">;

/** A lease as it was last seen, and since when it has been like that on this process's own clock. */
export class ObservedLease {
  #last: { readonly spec: LeaseSpec; readonly text: string; readonly sinceMs: number } | undefined;

  get spec(): LeaseSpec | undefined {
    return this.#last?.spec;
  }

  /** Undefined: free. */
  get holder(): string | undefined {
    return this.#last?.spec.holderIdentity || undefined;
  }

  /** Time starts when a change is received, never at the `renewTime` in it. */
  see(spec: LeaseSpec, nowMs: number): void {
    const text = JSON.stringify(spec);
    if (text !== this.#last?.text) this.#last = { spec, text, sinceMs: nowMs };
  }

  /**
   * By the duration that its holder wrote, which may be configured otherwise than ours: believed up to twice ours, or
   * five minutes. A foreign object of this name that says a century and is never renewed would otherwise keep us out as
   * long.
   */
  isValid(nowMs: number, ourLeaseMs: number): boolean {
    if (this.#last === undefined) return false;
    const saysMs = (this.#last.spec.leaseDurationSeconds ?? 0) * 1000;
    return nowMs < this.#last.sinceMs + Math.min(saysMs, Math.max(PEER_NUMBERS.leaseMs.most, 2 * ourLeaseMs));
  }
}

/** Fields of a lease just taken by `identity`, free before or held. */
export function taken(before: LeaseSpec | undefined, identity: string, leaseMs: number, now: Date): LeaseSpec {
  const isNew = before === undefined;
  return {
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(leaseMs / 1000),
    acquireTime: microTime(now),
    renewTime: microTime(now),
    leaseTransitions: isNew ? 0 : (clamped("leaseTransitions", (before.leaseTransitions ?? 0) + 1) ?? 0),
  };
}

/** The same holder goes on. */
export function renewed(held: LeaseSpec | undefined, leaseMs: number, now: Date): LeaseSpec {
  return { ...held, leaseDurationSeconds: Math.ceil(leaseMs / 1000), renewTime: microTime(now) };
}

/** Without a holder, and free after one second: client-go's form of a release. */
export function released(held: LeaseSpec | undefined, now: Date): LeaseSpec {
  return {
    holderIdentity: "",
    leaseDurationSeconds: 1,
    acquireTime: microTime(now),
    renewTime: microTime(now),
    leaseTransitions: held?.leaseTransitions ?? 0,
  };
}

export function newLease(namespace: string, name: string, spec: LeaseSpec): NewObject<Lease> & { spec: LeaseSpec } {
  return {
    apiVersion: apiVersionOf(resources.leases),
    kind: resources.leases.kind,
    metadata: { namespace, name },
    spec,
  };
}
