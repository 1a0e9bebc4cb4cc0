import { type Clock, sleep } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { EXPIRES_AT_ANNOTATION, grantAccount, type LendingMode } from "../../crds/group.ts";
import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import { inNamespace, type Place } from "../../crds/kinds/lending.ts";
import type { OperationInvocation } from "../../crds/kinds/operation-invocation.ts";
import type { Client } from "../../kube/client/client.ts";
import { type KubeObject, resources } from "../../kube/objects/resource.ts";
import { openedWindow } from "../gate/grant-window.ts";
import type { OperatorMetrics, SweptKind } from "../kernel/metrics.ts";
import { type Access, bindingsOf } from "./access.ts";

export interface SweepPorts {
  readonly client: Pick<Client, "delete">;
  readonly access: Pick<Access, "lentIn" | "accounts">;
  readonly fence: () => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<OperatorMetrics, "swept" | "removed">;
  /** From the caches. */
  readonly grants: () => Iterable<AccessGrant>;
  readonly invocations: () => Iterable<OperationInvocation>;
  /** Owners of which an operation runs in this process. */
  readonly running: () => Iterable<string>;
  readonly lendingMode: LendingMode;
  /** Everywhere that access may have been given: namespaces of served deployments and of plans, and the cluster. */
  readonly places: () => readonly Place[];
  /** What else is swept in the same rhythm: debug sessions, where they are switched on. */
  readonly more?: (signal: AbortSignal) => Promise<void>;
}

/**
 * Owners whose access may still be needed at `now`. All other access is left over.
 *
 * @param lendingMode where approvers lend, a binding may be there before we have recorded the approval, or before it.
 */
export function livingOwners(
  grants: Iterable<AccessGrant>,
  invocations: Iterable<OperationInvocation>,
  now: Date,
  lendingMode: LendingMode,
): ReadonlySet<string> {
  const living = new Set<string>();
  for (const grant of grants) {
    const { metadata, spec, status } = grant;
    const stopped = metadata.deletionTimestamp ?? spec.revokedReason ?? spec.deniedReason;
    const window = openedWindow(grant);
    const awaited = lendingMode === "approver" && (status?.state ?? "Pending") === "Pending";
    const open = awaited || (window !== undefined && now < window.until && status?.state === "Approved");
    if (stopped === undefined && open) living.add(metadata.uid);
  }
  for (const { metadata, spec, status } of invocations) {
    const state = status?.state ?? "Pending";
    // An automatic one is its own owner; one under a grant is not.
    if (spec.grantName === undefined && (state === "Pending" || state === "Running")) living.add(metadata.uid);
  }
  return living;
}

/** The fourth hand on every expiry: removes access that a crash or a lost request has left behind. */
export async function sweep(ports: SweepPorts, signal: AbortSignal): Promise<void> {
  for (const namespace of ports.places()) {
    const lent = await ports.access.lentIn(namespace, signal);
    const now = ports.clock.wallNow();
    const isNeeded = neededAfterListing(ports, now);
    for (const [account, binding] of lent) {
      const end = Date.parse(binding.metadata.annotations?.[EXPIRES_AT_ANNOTATION] ?? "");
      // A binding of ours whose end cannot be read has none that we would trust; an approver's ends with the grant.
      if (isNeeded(account) && (ports.lendingMode === "approver" || now.getTime() < end)) continue;
      await remove(ports, namespace === undefined ? "ClusterRoleBinding" : "RoleBinding", binding, signal);
    }
  }
  const accounts = await ports.access.accounts(signal);
  const isNeeded = neededAfterListing(ports, ports.clock.wallNow());
  for (const account of accounts) {
    if (!isNeeded(account.metadata.name)) await remove(ports, "ServiceAccount", account, signal);
  }
  await ports.more?.(signal);
}

/**
 * Whose access stays. Call it after the list that it judges: an operation is registered as running before it opens
 * access, while its owner may be missing from an older cache.
 */
function neededAfterListing(ports: SweepPorts, now: Date): (account: string) => boolean {
  const living = livingOwners(ports.grants(), ports.invocations(), now, ports.lendingMode);
  const needed = new Set([...living, ...ports.running()].map(grantAccount));
  return (account) => needed.has(account);
}

async function remove(
  { client, fence, log, metrics }: SweepPorts,
  kind: SweptKind,
  { metadata }: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  fence();
  const { name, namespace, uid } = metadata;
  const resource = kind === "ServiceAccount" ? resources.serviceAccounts : bindingsOf(namespace);
  const key = { name, ...inNamespace(namespace) };
  if (!(await client.delete(resource, key, { preconditions: { uid } }, signal))) return;
  metrics.removed(kind);
  log.info({ kind, namespace, name }, "left-over access removed");
}

/** Sweeps at the start, every `everyMs`, and after a call of `soon`. */
export class Sweeper {
  readonly name = "sweep";
  readonly #ports: SweepPorts;
  readonly #everyMs: number;
  #wake: () => void = () => undefined;

  constructor(ports: SweepPorts, everyMs: number) {
    this.#ports = ports;
    this.#everyMs = everyMs;
  }

  /** A grant is gone: its bindings in other namespaces have no owner that the garbage collector would follow. */
  soon(): void {
    this.#wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, metrics } = this.#ports;
    while (!signal.aborted) {
      const woken = new AbortController();
      const stop = (): void => woken.abort(signal.reason);
      // Before the sweep: who calls `soon` in its middle is not forgotten.
      this.#wake = () => woken.abort();
      signal.addEventListener("abort", stop, { once: true });
      try {
        await sweep(this.#ports, signal);
        metrics.swept("ok", clock.wallNow());
      } catch (error) {
        if (signal.aborted) return;
        metrics.swept("failed", clock.wallNow());
        log.warn({ err: error }, "sweep failed");
      }
      await sleep(clock, this.#everyMs, woken.signal).catch(() => undefined);
      signal.removeEventListener("abort", stop);
    }
  }
}
