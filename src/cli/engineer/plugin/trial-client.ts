import { refusedPodDeletion, refusedReplicas, refusedWorkload } from "../../../crds/manifests/plugin-changes.ts";
import { WORKLOAD_RESOURCES } from "../../../crds/operations/workload-kinds.ts";
import { ApiError } from "../../../kube/client/api-error.ts";
import { Client } from "../../../kube/client/client.ts";
import type { ClientOptions, DeleteOptions, Patch, PatchOptions } from "../../../kube/client/client-options.ts";
import type { Connection, WireRequest } from "../../../kube/client/connection.ts";
import type { DynamicObject, KubeObject, ObjectKey, Resource } from "../../../kube/objects/resource.ts";

const MAX_TOLD = 2_000;
export const TRIAL_MANAGER = "sallyport-plugin-test";

export interface TrialOptions {
  /** False: the API server is asked to change nothing (`dryRun=All`). */
  readonly apply: boolean;
  /** Each request, before it is sent. */
  readonly tell: (request: string) => void;
}

/**
 * The client with which a plugin is tried. What a customer's admission policies refuse to the account of a plugin, it refuses too: the
 * author's own account is bound by none. It asks the API server for that without saying so: the object before, and the change as a dry run.
 */
export class TrialClient extends Client {
  readonly #apply: boolean;
  readonly #before: Client;
  readonly #dryRun: Client;

  constructor(connection: Connection, { apply, tell }: TrialOptions, options: ClientOptions = {}) {
    const own = { ...options, fieldManager: TRIAL_MANAGER };
    const telling = over(connection, told(tell));
    super(apply ? telling : over(telling, dryRun), own);
    this.#apply = apply;
    this.#before = new Client(connection, own);
    this.#dryRun = new Client(over(connection, dryRun), own);
  }

  override async patch<T extends KubeObject = DynamicObject>(
    resource: Resource,
    key: ObjectKey,
    patch: Patch,
    options: PatchOptions,
    signal: AbortSignal,
  ): Promise<T> {
    const judge = judgeOf(resource, options.subresource);
    if (judge === undefined) return await super.patch<T>(resource, key, patch, options, signal);
    const was = await this.#before.get(resource, key, signal);
    const tried = this.#apply ? this.#dryRun : undefined;
    const now = await (tried?.patch<T>(resource, key, patch, options, signal) ??
      super.patch<T>(resource, key, patch, options, signal));
    refuse(was === undefined ? undefined : judge(now, was));
    return this.#apply ? await super.patch<T>(resource, key, patch, options, signal) : now;
  }

  override async delete(
    resource: Resource,
    key: ObjectKey,
    options: DeleteOptions,
    signal: AbortSignal,
  ): Promise<boolean> {
    const pod = isPod(resource) ? await this.#before.get(resource, key, signal) : undefined;
    refuse(pod === undefined ? undefined : refusedPodDeletion(pod));
    return await super.delete(resource, key, options, signal);
  }
}

type Judge = typeof refusedWorkload;

function judgeOf({ group, plural }: Resource, subresource: string | undefined): Judge | undefined {
  const workloads: readonly string[] = WORKLOAD_RESOURCES;
  if (group !== "apps" || !workloads.includes(plural)) return undefined;
  if (subresource === undefined) return refusedWorkload;
  return subresource === "scale" ? refusedReplicas : undefined;
}

function isPod({ group, plural }: Resource): boolean {
  return group === "" && plural === "pods";
}

function refuse(words: string | undefined): void {
  if (words === undefined) return;
  throw new ApiError(`a customer's admission policies refuse it: ${words}`, { status: 422, reason: "Invalid" });
}

/** The same way to the API server, on which `change` sees each request. */
function over(connection: Connection, change: (request: WireRequest) => WireRequest): Connection {
  return {
    server: connection.server,
    userAgent: connection.userAgent,
    namespace: connection.namespace,
    request: (request, signal) => connection.request(change(request), signal),
    open: (request, signal) => connection.open(change(request), signal),
    upgrade: (request, protocol, signal) => connection.upgrade(change(request), protocol, signal),
    withToken: (token) => over(connection.withToken(token), change),
    close: () => connection.close(),
  };
}

function dryRun(request: WireRequest): WireRequest {
  if (request.method === "GET") return request;
  const path = `${request.path}${request.path.includes("?") ? "&" : "?"}dryRun=All`;
  if (request.method !== "DELETE") return { ...request, path };
  // The API server does not read the query of a DELETE that has a body: with dryRun there alone it would delete.
  const options: object = JSON.parse(request.body ?? "{}");
  return { ...request, path, body: JSON.stringify({ ...options, dryRun: ["All"] }) };
}

function told(tell: TrialOptions["tell"]): (request: WireRequest) => WireRequest {
  return (request) => {
    const { method, path, body } = request;
    const sent = body === undefined || method === "DELETE" ? "" : ` ${body}`;
    tell(`${method} ${path}${sent}`.slice(0, MAX_TOLD));
    return request;
  };
}
