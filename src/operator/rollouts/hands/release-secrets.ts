import type { Clock } from "../../../base/clock.ts";
import { DEPLOYMENT_ID_LABEL } from "../../../crds/release-names.ts";
import { NONCE_KEY, releaseSecretName, type SecretData } from "../../../crds/release-secret.ts";
import { ApiError } from "../../../kube/client/api-error.ts";
import type { Client } from "../../../kube/client/client.ts";
import { type KubeObject, resources } from "../../../kube/objects/resource.ts";
import type { RuleProblem } from "../release-rules.ts";
import type { Intent, WaveFailure } from "./hands.ts";
import { MANAGED_BY, type Membership } from "./membership.ts";
import { refusalText } from "./refusal-text.ts";
import type { ReleaseApi } from "./release-api.ts";
import { lackingRights } from "./rights.ts";
import { refOfPlace, type SecretPlace } from "./secret-places.ts";
import { installedSecrets } from "./targets.ts";

interface StoredSecret extends KubeObject {
  readonly type?: string;
  readonly data?: SecretData;
}

export interface SecretSource {
  /** As the operator, which may read in this namespace alone. */
  readonly client: Pick<Client, "get">;
  /** Where the agent leaves the Secrets of releases. */
  readonly releasesNamespace: string;
}

/** A Secret as the plan shows it: never a value. */
export interface SecretCopy {
  readonly ref: string;
  readonly keys: readonly string[];
}

/** As many as rollouts that have an account. */
const MAX_KEPT = 256;

type Read = { readonly values: SecretData } | { readonly problem: string };

/**
 * Brings the secret values of a configuration from where the agent has left them to where pods read them. The operator
 * reads, and the account of the rollout writes: that account reads no Secret at all, neither of another deployment nor
 * of the customer.
 */
export class ReleaseSecrets {
  readonly #source: SecretSource | undefined;
  /** By rollout: refs of the copies that it has made, as far as this process knows. */
  readonly #made = new Map<string, Set<string>>();

  /** @param source undefined: the customer lets releases bring no secret values. */
  constructor(source: SecretSource | undefined) {
    this.#source = source;
  }

  /** What would be copied, and all that speaks against it. Tried out with empty values: a plan is not yet allowed. */
  async plan(
    api: ReleaseApi,
    intent: Intent,
    membership: Membership,
    places: readonly SecretPlace[],
    clock: Clock,
    signal: AbortSignal,
  ): Promise<{ readonly copies: readonly SecretCopy[]; readonly problems: readonly RuleProblem[] }> {
    const needs = [...new Set(places.map(({ namespace }) => namespace))].flatMap((namespace) =>
      ["create", "delete"].map((verb) => ({ verb, resource: resources.secrets, namespace })),
    );
    const lacking = this.#source === undefined ? [] : await lackingRights(api.exchange, needs, clock, signal);
    const problems: RuleProblem[] = [...new Set(lacking.map(({ namespace }) => namespace))].map((namespace) => ({
      ref: `Secret/${namespace}/`,
      message: "the role of releases does not allow here: create, delete",
    }));
    const copies: SecretCopy[] = [];
    const installed = installedSecrets(intent);
    for (const place of places) {
      const ref = refOfPlace(place);
      const read = await this.#read(place, membership, signal);
      if ("problem" in read) {
        problems.push({ ref, message: read.problem });
        continue;
      }
      const keys = Object.keys(read.values).sort();
      copies.push({ ref, keys });
      if (lacking.some(({ namespace }) => namespace === place.namespace)) continue;
      const empty = Object.fromEntries(keys.map((key) => [key, ""]));
      try {
        await api.create(resources.secrets, copyOf(place, membership, empty), signal, { isDryRun: true });
      } catch (error) {
        if (!(error instanceof ApiError) || error.isTransient || error.isUnauthorized) throw error;
        if (!error.isAlreadyExists) problems.push({ ref, message: refusalText(error) });
        else if (!installed.has(ref)) problems.push(...(await this.#notReplaced(api, place, signal)));
      }
    }
    return { copies, problems };
  }

  /**
   * Other values have another name, so a copy of the installed content is left as it is. Any other of that name may be of
   * another hand, which the account that may not read could not tell: it is deleted and made again, once by each process. A
   * crash in between leaves none, and the next call makes it.
   */
  async copy(
    api: ReleaseApi,
    intent: Intent,
    membership: Membership,
    places: readonly SecretPlace[],
    signal: AbortSignal,
  ): Promise<readonly WaveFailure[]> {
    const failures: WaveFailure[] = [];
    const installed = installedSecrets(intent);
    const made = this.#madeBy(intent.rollout.metadata.uid);
    for (const place of places) {
      const ref = refOfPlace(place);
      const read = await this.#read(place, membership, signal);
      if ("problem" in read) {
        failures.push({ ref, message: read.problem, isTemporary: false });
        continue;
      }
      const copy = copyOf(place, membership, read.values);
      try {
        const isOurs = installed.has(ref) || made.has(ref);
        if (!(await isMade(api, copy, signal)) && !isOurs) {
          await api.deleteNamed(resources.secrets, place, signal);
          await api.create(resources.secrets, copy, signal);
        }
        made.add(ref);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        const { status, reason, isTransient, isUnauthorized, isAlreadyExists } = error;
        // What the API server or a webhook says may quote a value: it is neither stored nor logged.
        const message = `the Secret was not made: ${status} ${reason}`;
        failures.push({ ref, message, isTemporary: isTransient || isUnauthorized || isAlreadyExists });
      }
    }
    return failures;
  }

  /** Of a rollout that has ended. */
  forget(rolloutUid: string): void {
    this.#made.delete(rolloutUid);
  }

  #madeBy(rolloutUid: string): Set<string> {
    const known = this.#made.get(rolloutUid);
    if (known !== undefined) return known;
    if (this.#made.size >= MAX_KEPT) this.#made.clear();
    const made = new Set<string>();
    this.#made.set(rolloutUid, made);
    return made;
  }

  /** Why a Secret that another hand has put there could not be replaced. */
  async #notReplaced(api: ReleaseApi, place: SecretPlace, signal: AbortSignal): Promise<readonly RuleProblem[]> {
    try {
      await api.deleteNamed(resources.secrets, place, signal, { isDryRun: true });
      return [];
    } catch (error) {
      if (!(error instanceof ApiError) || error.isTransient || error.isUnauthorized) throw error;
      const message = "a Secret of this name is there that no release has made, and it may not be deleted";
      return [{ ref: refOfPlace(place), message: `${message}: ${error.status} ${error.reason}` }];
    }
  }

  /** @returns how many are gone, and which stay. A policy lets the account delete none but the deployment's. */
  async remove(
    api: ReleaseApi,
    places: readonly SecretPlace[],
    signal: AbortSignal,
  ): Promise<{
    readonly deleted: number;
    readonly left: readonly { readonly ref: string; readonly message: string }[];
  }> {
    const left: { ref: string; message: string }[] = [];
    let deleted = 0;
    for (const place of this.#source === undefined ? [] : places) {
      try {
        if (await api.deleteNamed(resources.secrets, place, signal)) deleted += 1;
      } catch (error) {
        if (!(error instanceof ApiError) || error.isTransient || error.isUnauthorized) throw error;
        left.push({ ref: refOfPlace(place), message: refusalText(error) });
      }
    }
    return { deleted, left };
  }

  /**
   * The values that the name stands for. The agent made the Secret without a look at what was there: one that another hand
   * has put under this name, or a stolen agent for another deployment, does not fit it.
   */
  async #read({ name }: SecretPlace, membership: Membership, signal: AbortSignal): Promise<Read> {
    if (this.#source === undefined) return { problem: "releases bring no secret values here (releases.secrets)" };
    const { client, releasesNamespace: namespace } = this.#source;
    const secret = await client.get<StoredSecret>(resources.secrets, { namespace, name }, signal);
    if (secret === undefined) {
      return { problem: "its values are not there any more; a retry of the release brings them again" };
    }
    const { data = {}, type, metadata } = secret;
    const deploymentId = membership[DEPLOYMENT_ID_LABEL] ?? "";
    const isFit = metadata.labels?.[DEPLOYMENT_ID_LABEL] === deploymentId && type === "Opaque";
    if (!isFit || releaseSecretName(deploymentId, data) !== name) {
      return { problem: "its values are not those that its name stands for" };
    }
    const { [NONCE_KEY]: _, ...values } = data;
    return { values };
  }
}

/** False: one of this name is there. */
async function isMade(api: ReleaseApi, copy: ReturnType<typeof copyOf>, signal: AbortSignal): Promise<boolean> {
  try {
    await api.create(resources.secrets, copy, signal);
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.isAlreadyExists) return false;
    throw error;
  }
}

/** Without the nonce: beside the values that a pod may read there is nothing to try names out with. */
function copyOf({ name, namespace }: SecretPlace, membership: Membership, data: SecretData) {
  const labels = { ...membership, [MANAGED_BY]: "sallyport" };
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace, labels },
    type: "Opaque",
    immutable: true,
    data,
  };
}
