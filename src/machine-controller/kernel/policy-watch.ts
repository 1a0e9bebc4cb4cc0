import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { orAborted } from "../../base/or-aborted.ts";
import { MACHINE_VALIDATING_POLICIES } from "../../crds/manifests/admission/machine-admission.ts";
import { lookRepeatedly } from "../../kube/access/repeated-look.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Client } from "../../kube/client/client.ts";
import { inForceSince } from "../../kube/client/policy-in-force.ts";
import { resources } from "../../kube/objects/resource.ts";

type PolicyName = (typeof MACHINE_VALIDATING_POLICIES)[number];

/** What bounds this process while it drains: without one of them it could write more than its drains need. */
export const DRAIN_POLICIES: readonly PolicyName[] = [
  "sallyport-drain-words",
  "sallyport-machines-words",
  "sallyport-machines-nodes",
  "sallyport-machines-evict",
  "sallyport-removed-machines",
];

/** The same, while it has machines signed. */
export const JOIN_POLICIES: readonly PolicyName[] = [
  "sallyport-join-words",
  "sallyport-join-server",
  "sallyport-machines-words",
  "sallyport-machines-csr",
  "sallyport-removed-machines",
];

interface PolicyWatchOptions {
  readonly client: Pick<Client, "get">;
  readonly clock: Clock;
  readonly log: Logger;
  /** Between two looks: how late a policy that is gone is noticed. It may be got by name, and not watched. */
  readonly everyMs: number;
}

const RETRY_MS = 1_000;

/** Whether the policies that narrow this process are in force. A right to look that is missing hides none of them. */
export class PolicyWatch {
  readonly name = "admission policies";
  readonly #options: PolicyWatchOptions;
  readonly #first = Promise.withResolvers<void>();
  readonly #listeners = new Set<() => void>();
  #missing: readonly PolicyName[] = MACHINE_VALIDATING_POLICIES;

  constructor(options: PolicyWatchOptions) {
    this.#options = options;
  }

  /** Which of these are missing, in words; all of them before the first look. Undefined: none. */
  obstacle(names: readonly PolicyName[]): string | undefined {
    const missing = names.filter((name) => this.#missing.includes(name));
    return missing.length === 0 ? undefined : `admission policies are missing: ${missing.join(", ")}`;
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  whenSynced(signal: AbortSignal): Promise<void> {
    return orAborted(this.#first.promise, signal);
  }

  /** Looks again and again until `signal` aborts; a look that fails leaves the last one standing. */
  run(signal: AbortSignal): Promise<void> {
    const { clock, log, everyMs } = this.#options;
    // They may be installed after this process: what is missing is looked for more often.
    const pauseMs = (): number => (this.#missing.length > 0 ? Math.min(RETRY_MS, everyMs) : everyMs);
    const options = { clock, log, everyMs: pauseMs, retryMs: RETRY_MS, failed: "admission policies not read" };
    return lookRepeatedly((each) => this.#look(each), options, signal);
  }

  async #look(signal: AbortSignal): Promise<void> {
    const before = this.#missing.join();
    this.#missing = await this.#read(signal);
    this.#first.resolve();
    if (before === this.#missing.join()) return;
    if (this.#missing.length > 0) this.#options.log.warn({ missing: this.#missing }, "admission policies are missing");
    else this.#options.log.info({}, "admission policies are in force");
    for (const listener of this.#listeners) listener();
  }

  async #read(signal: AbortSignal): Promise<readonly PolicyName[]> {
    const { validatingAdmissionPolicies: policies, validatingAdmissionPolicyBindings: bindings } = resources;
    const { client } = this.#options;
    try {
      const found = await Promise.all(
        MACHINE_VALIDATING_POLICIES.map((name) => inForceSince(client, policies, bindings, name, signal)),
      );
      return MACHINE_VALIDATING_POLICIES.filter((_, index) => found[index]?.since === undefined);
    } catch (error) {
      if (!(error instanceof ApiError && error.isForbidden)) throw error;
      return MACHINE_VALIDATING_POLICIES;
    }
  }
}
