import type { StoredError } from "../../contract/wire/stored-error.ts";
import { RELEASE_SALT_SECRET } from "../../crds/release-secret.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Client } from "../../kube/client/client.ts";
import { type KubeObject, resources } from "../../kube/objects/resource.ts";
import { readSalt, type SaltOptions } from "../kernel/salt-secret.ts";
import { type NewSecret, newSecret } from "./release-objects.ts";
import type { ConfigurationSecret } from "./render/configuration-secret.ts";
import { stored } from "./rollout-progress.ts";

export interface ReleaseSecretsOptions extends Omit<SaltOptions, "client" | "secret"> {
  readonly client: Pick<Client, "get" | "replace" | "create">;
  /** Holds the Secrets of releases, and nothing else. The agent may create there, and read nothing. */
  readonly releasesNamespace: string;
  /** Throws when another agent may lead by now; called right before each write. */
  readonly fence: () => void;
}

type SecretObject = KubeObject & Omit<NewSecret, "metadata">;

/** Hands secret values over to the operator: the one way on which they leave this process. */
export class ReleaseSecrets {
  readonly #options: ReleaseSecretsOptions;
  #salt: Promise<Buffer> | undefined;

  constructor(options: ReleaseSecretsOptions) {
    this.#options = options;
  }

  /** What makes the names unguessable: one for the whole installation, so that equal values keep their name. */
  async salt(signal: AbortSignal): Promise<Uint8Array> {
    this.#salt ??= readSalt({ ...this.#options, secret: RELEASE_SALT_SECRET }, signal);
    try {
      return await this.#salt;
    } catch (error) {
      this.#salt = undefined;
      throw error;
    }
  }

  /**
   * Before the content that names it. One of that name is there already after a restart, or from another release with the
   * same values: the agent may not read it, and the operator compares its values with its name before it uses them.
   *
   * @returns why the cluster takes no such Secret; undefined: it is there.
   */
  async make(secret: ConfigurationSecret, deploymentId: string, signal: AbortSignal): Promise<StoredError | undefined> {
    const { client, releasesNamespace, fence } = this.#options;
    fence();
    try {
      await client.create<SecretObject>(resources.secrets, newSecret(secret, deploymentId, releasesNamespace), signal);
      return undefined;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.isAlreadyExists) return undefined;
      const refusal = withoutWords(error);
      if (error.isInvalid || error.status === 413) return stored("PREFLIGHT_CHECKS_FAILED", refusal.message);
      throw refusal;
    }
  }
}

/** What the API server or a webhook says may quote a value: it is neither stored nor logged, and no cause either. */
function withoutWords({ status, reason }: ApiError): ApiError {
  return new ApiError(`the cluster takes no Secret of a release: ${status} ${reason}`, { status, reason });
}
