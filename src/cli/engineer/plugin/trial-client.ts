import { ApiError as ServerError } from "../../../kube/client/api-error.ts";
import type { Exchange, ExchangeRequest } from "../../../kube/client/exchange.ts";
import { collectionPath, objectPath, withQuery } from "../../../kube/objects/paths.ts";
import { CALL_BOUNDS, readCall } from "../../../operator/custom-operations/call-arguments.ts";
import {
  ApiError,
  type Key,
  type KubeObject,
  type ListOptions,
  type PatchOptions,
  type PluginClient,
  type PodLogOptions,
  type Resource,
} from "../../../plugin-api/index.ts";
import type { PluginOperation } from "../../../plugins/metadata.ts";
import { isCovered } from "../../../plugins/rules.ts";

const PAGE_SIZE = 500;
const MAX_TOLD = 2_000;
const MANAGER = "sallyport-plugin-test";

const PATCH_TYPES = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  strategic: "application/strategic-merge-patch+json",
} as const;

export interface TrialOptions {
  readonly exchange: Exchange;
  readonly operation: PluginOperation;
  /** The one in which the operation may work. */
  readonly namespace: string;
  /** False: the API server is asked to change nothing (`dryRun=All`). */
  readonly apply: boolean;
  /** Each request, before it is sent. */
  readonly tell: (request: string) => void;
  readonly signal: AbortSignal;
}

/** One request: what is asked of RBAC, and what is sent. */
interface Asked {
  readonly verb: "get" | "list" | "create" | "patch" | "delete";
  readonly resource: Resource;
  readonly subresource?: string | undefined;
  readonly namespace: string;
  readonly request: ExchangeRequest;
}

/**
 * A plugin's client with the rights of the author's kubeconfig, narrowed to the rules of the operation: what a rule lacks shows here,
 * and not in a customer's cluster.
 */
export class TrialClient implements PluginClient {
  readonly #options: TrialOptions;

  constructor(options: TrialOptions) {
    this.#options = options;
  }

  async get<T extends KubeObject = KubeObject>(resource: Resource, key: Key): Promise<T | undefined> {
    refuseMalformed("get", { resource, key });
    try {
      return await this.#json<T>({ verb: "get", ...target(resource, key), request: getOf(resource, key) });
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    }
  }

  async list<T extends KubeObject = KubeObject>(resource: Resource, options: ListOptions): Promise<readonly T[]> {
    refuseMalformed("list", { resource, options });
    const { namespace, labelSelector } = options;
    const { objects, listBytes } = CALL_BOUNDS;
    const path = collectionPath(kindOf(resource), namespace);
    const found: T[] = [];
    let bytes = 0;
    let next: string | undefined;
    do {
      const query = { labelSelector, limit: PAGE_SIZE, continue: next };
      const request = { method: "GET", path, query, maxBytes: listBytes } as const;
      const body = await this.#send({ verb: "list", resource, namespace, request });
      const page: { items?: T[]; metadata: { continue?: string } } = JSON.parse(body.toString("utf8"));
      found.push(...(page.items ?? []));
      bytes += body.length;
      if (found.length > objects) throw new ApiError(413, `a list may have at most ${objects} objects`);
      if (bytes > listBytes) throw new ApiError(413, `a list may have at most ${listBytes / 1_048_576} MiB`);
      next = page.metadata.continue || undefined;
    } while (next !== undefined);
    return found;
  }

  async create<T extends KubeObject = KubeObject>(resource: Resource, object: T): Promise<T> {
    refuseMalformed("create", { resource, object });
    const { namespace = "" } = object.metadata;
    const path = collectionPath(kindOf(resource), namespace);
    const request = { method: "POST", path, query: this.#changing(), body: object } as const;
    return this.#json<T>({ verb: "create", resource, namespace, request });
  }

  async patch<T extends KubeObject = KubeObject>(
    resource: Resource,
    key: Key,
    body: object,
    options: PatchOptions = {},
  ): Promise<T> {
    refuseMalformed("patch", { resource, key, body, options });
    const { type = "merge", subresource } = options;
    const path = objectPath(kindOf(resource), key, subresource);
    const request = { method: "PATCH", path, query: this.#changing(), body, contentType: PATCH_TYPES[type] } as const;
    return this.#json<T>({ verb: "patch", ...target(resource, key), subresource, request });
  }

  async delete(resource: Resource, key: Key): Promise<void> {
    refuseMalformed("delete", { resource, key });
    const path = objectPath(kindOf(resource), key);
    const request = { method: "DELETE", path, query: this.#changing() } as const;
    await this.#send({ verb: "delete", ...target(resource, key), request });
  }

  async podLogs(key: Key, options: PodLogOptions = {}): Promise<string> {
    refuseMalformed("podLogs", { key, options });
    const { container, tailLines } = options;
    const pods = { group: "", version: "v1", plural: "pods" };
    const path = objectPath(kindOf(pods), key, "log");
    const query = { container, tailLines, limitBytes: CALL_BOUNDS.logBytes };
    const request = { method: "GET", path, query } as const;
    return (await this.#send({ verb: "get", ...target(pods, key), subresource: "log", request })).toString("utf8");
  }

  #changing() {
    return { fieldManager: MANAGER, ...(!this.#options.apply && { dryRun: "All" }) };
  }

  async #json<T>(asked: Asked): Promise<T> {
    return JSON.parse((await this.#send(asked)).toString("utf8")) as T;
  }

  async #send(asked: Asked): Promise<Buffer> {
    this.#refuseBeyondRules(asked);
    const { exchange, tell, signal } = this.#options;
    const { method, path, query = {}, body } = asked.request;
    const sent = body === undefined ? "" : ` ${JSON.stringify(body)}`;
    tell(`${method} ${withQuery(path, query)}${sent}`.slice(0, MAX_TOLD));
    try {
      return (await exchange.bytes(asked.request, signal)).body;
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      throw refusalOf(error);
    }
  }

  /** In the words in which the API server would refuse it to the account of a grant. */
  #refuseBeyondRules({ verb, resource, subresource, namespace }: Asked): void {
    const { operation, namespace: own } = this.#options;
    const whole = subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`;
    const named = [resource.group, whole].filter((part) => part !== "").join("/");
    if (!isCovered(operation.rules, { group: resource.group, resource: whole, verb })) {
      throw new ApiError(403, `no rule of ${operation.name} lets it ${verb} ${named}: add one to plugin.yaml`);
    }
    if (namespace !== own) {
      throw new ApiError(
        403,
        `${operation.name} may ${verb} ${named} in namespace ${own} alone, and not in ${namespace}`,
      );
    }
  }
}

/** As the operator reads a request of a plugin: what it would not send is not sent here. */
function refuseMalformed(verb: Parameters<typeof readCall>[0]["verb"], given: Readonly<Record<string, unknown>>): void {
  const read = readCall({ verb, arguments: given });
  if (typeof read === "string") throw new ApiError(400, read);
}

function refusalOf(error: ServerError): ApiError {
  return new ApiError(error.status, error.body?.message ?? error.message, { cause: error });
}

function target(resource: Resource, { namespace }: Key) {
  return { resource, namespace };
}

function getOf(resource: Resource, key: Key): ExchangeRequest {
  return { method: "GET", path: objectPath(kindOf(resource), key) };
}

function kindOf(resource: Resource) {
  return { ...resource, kind: resource.plural, namespaced: true };
}
