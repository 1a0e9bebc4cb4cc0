import { ApiError } from "../../kube/client/api-error.ts";
import type { Client } from "../../kube/client/client.ts";
import type { KubeObject, Resource } from "../../kube/objects/resource.ts";

/** The verbs that the operator uses, as one user. */
export type FakeClient = Pick<
  Client,
  "get" | "list" | "create" | "patch" | "delete" | "getScale" | "createToken" | "podLogs" | "rawGet"
>;

export interface FakeCall {
  readonly verb: "get" | "list" | "create" | "patch" | "delete" | "scale" | "token" | "logs" | "raw";
  /** Plural, with the subresource behind a slash. */
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  /** `operator`, or the token of a grant's account. */
  readonly as: string;
}

type Stored = KubeObject & { readonly [field: string]: unknown };

/**
 * An API server in memory: objects with uids and resource versions, preconditions, merge patches, 404 and 409. No
 * admission, no RBAC: what it lets through is what our own code has asked for.
 */
export class FakeCluster {
  readonly calls: FakeCall[] = [];
  readonly #objects = new Map<string, Stored>();
  #versions = 0;
  #uids = 0;
  /** Throws to make a call fail: `before` it happens, or `after`, so that only its answer is lost. */
  fault: (call: FakeCall, when: "before" | "after") => void = () => undefined;
  logs = "";

  put<T extends KubeObject>(resource: Resource, object: T): T {
    this.#versions += 1;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#versions) } };
    this.#objects.set(pathOf(resource, object.metadata), stored as unknown as Stored);
    return stored;
  }

  peek<T extends KubeObject>(resource: Resource, name: string, namespace?: string): T | undefined {
    return this.#objects.get(pathOf(resource, { name, namespace })) as T | undefined;
  }

  all(resource: Resource): readonly KubeObject[] {
    return [...this.#objects].filter(([path]) => path.startsWith(`${resource.plural}/`)).map(([, object]) => object);
  }

  /** Calls that changed something, as `verb resource`, but for our own bookkeeping. */
  changes(as?: string): readonly string[] {
    const reading = new Set(["get", "list", "logs", "raw"]);
    const changing = this.calls.filter((call) => !reading.has(call.verb) && (as === undefined || call.as === as));
    return changing.map(({ verb, resource }) => `${verb} ${resource}`);
  }

  client(as = "operator"): FakeClient {
    const run = async <T>(call: Omit<FakeCall, "as">, signal: AbortSignal, answer: () => T): Promise<T> => {
      signal.throwIfAborted();
      this.fault({ ...call, as }, "before");
      this.calls.push({ ...call, as });
      const result = answer();
      this.fault({ ...call, as }, "after");
      await Promise.resolve();
      signal.throwIfAborted();
      return result;
    };
    // Answers are typed by the caller, as the real client's are.
    // biome-ignore lint/suspicious/noExplicitAny: see above.
    const any = (value: unknown): any => value;
    const about = (
      verb: FakeCall["verb"],
      { plural }: Resource,
      key: { name?: string | undefined; namespace?: string | undefined },
      sub?: string,
    ) => ({
      verb,
      resource: sub === undefined ? plural : `${plural}/${sub}`,
      namespace: key.namespace,
      name: key.name,
    });
    return {
      get: (resource, key, signal) =>
        run(about("get", resource, key), signal, () => any(this.#objects.get(pathOf(resource, key)))),
      list: (resource, options, signal) => this.#list(any(run), resource, options, signal),
      create: (resource, object, signal) =>
        run(about("create", resource, object.metadata), signal, () => any(this.#create(resource, any(object)))),
      patch: (resource, key, patch, { subresource }, signal) =>
        run(about("patch", resource, key, subresource), signal, () => any(this.#patch(resource, key, any(patch.body)))),
      delete: (resource, key, { preconditions }, signal) =>
        run(about("delete", resource, key), signal, () => this.#delete(resource, key, preconditions?.uid)),
      getScale: (resource, key, signal) =>
        run(about("get", resource, key, "scale"), signal, () => any(this.#scale(resource, key))),
      createToken: (key, _, signal) =>
        run(
          { verb: "token", resource: "serviceaccounts/token", namespace: key.namespace, name: key.name },
          signal,
          () => ({
            token: `token-of-${key.name}`,
            expirationTimestamp: "2026-01-01T10:40:00Z",
          }),
        ),
      podLogs: (key, _, signal) =>
        run({ verb: "logs", resource: "pods/log", namespace: key.namespace, name: key.name }, signal, () => this.logs),
      rawGet: (path, signal) =>
        run(
          { verb: "raw", resource: path, namespace: undefined, name: undefined },
          signal,
          () => '"mutatingadmissionpolicies"',
        ),
    };
  }

  async *#list(
    run: <T>(call: Omit<FakeCall, "as">, signal: AbortSignal, answer: () => T) => Promise<T>,
    resource: Resource,
    options: { readonly namespace?: string; readonly labelSelector?: string; readonly limit?: number },
    signal: AbortSignal,
    // biome-ignore lint/suspicious/noExplicitAny: typed by the caller.
  ): AsyncGenerator<any, void, undefined> {
    const { namespace, labelSelector = "", limit = Number.POSITIVE_INFINITY } = options;
    const [label = "", value] = labelSelector.split("=");
    const call = { verb: "list", resource: resource.plural, namespace, name: undefined } as const;
    const found = await run(call, signal, () =>
      this.all(resource).filter(({ metadata }) => {
        if (namespace !== undefined && metadata.namespace !== namespace) return false;
        const mark = metadata.labels?.[label];
        return label === "" || (mark !== undefined && (value === undefined || mark === value));
      }),
    );
    yield* found.slice(0, limit);
  }

  #create(resource: Resource, object: Stored): Stored {
    if (this.#objects.has(pathOf(resource, object.metadata))) throw refusal(409, "AlreadyExists");
    this.#uids += 1;
    const uid = `cccccccc-0000-4000-8000-${String(this.#uids).padStart(12, "0")}`;
    return this.put(resource, {
      ...object,
      metadata: { ...object.metadata, uid, creationTimestamp: "2026-01-01T10:00:00Z" },
    });
  }

  #patch(
    resource: Resource,
    key: { name: string; namespace?: string | undefined },
    body: Record<string, unknown>,
  ): Stored {
    const before = this.#objects.get(pathOf(resource, key));
    if (before === undefined) throw refusal(404, "NotFound");
    const wanted = (body.metadata as { resourceVersion?: string } | undefined)?.resourceVersion;
    if (wanted !== undefined && wanted !== before.metadata.resourceVersion) throw refusal(409, "Conflict");
    return this.put(resource, merged(before, body) as Stored);
  }

  #delete(resource: Resource, key: { name: string; namespace?: string | undefined }, uid: string | undefined): boolean {
    const path = pathOf(resource, key);
    const found = this.#objects.get(path);
    if (found !== undefined && uid !== undefined && uid !== found.metadata.uid) throw refusal(409, "Conflict");
    return this.#objects.delete(path);
  }

  #scale(resource: Resource, key: { name: string; namespace?: string | undefined }): unknown {
    const found = this.#objects.get(pathOf(resource, key));
    if (found === undefined) return undefined;
    const spec = found.spec as { replicas?: number };
    return { metadata: found.metadata, spec: { replicas: spec.replicas }, status: { replicas: 1 } };
  }
}

/** RFC 7386, less the removal by null, which is not used here. */
function merged(before: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const base = typeof before === "object" && before !== null ? (before as Record<string, unknown>) : {};
  const entries = Object.entries(patch).map(([key, value]) => [key, merged(base[key], value)]);
  return { ...base, ...Object.fromEntries(entries) };
}

function pathOf(
  { plural }: Resource,
  key: { readonly name?: string | undefined; readonly namespace?: string | undefined },
): string {
  return `${plural}/${key.namespace ?? ""}/${key.name ?? ""}`;
}

export function refusal(status: number, reason: string): ApiError {
  return new ApiError(`refused: ${reason}`, { status, reason });
}
