/** A kind of the API server, such as `{ group: "apps", version: "v1", plural: "deployments" }`; the core group is "". */
export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
}

/** One object, in the namespace of the operation. */
export interface Key {
  readonly namespace: string;
  readonly name: string;
}

export interface ObjectMeta {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** An object as the API server gives it. A plugin that knows the kind gives a type of its own to the client's functions. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

export interface ListOptions {
  /** The operation's. */
  readonly namespace: string;
  /** As for kubectl, such as `app=web,tier!=test`; at most 1,024 characters. */
  readonly labelSelector?: string;
}

export interface PatchOptions {
  /** @default "merge" */
  readonly type?: "merge" | "json" | "strategic";
  readonly subresource?: "scale" | "status";
}

export interface PodLogOptions {
  /** Default: the pod's only one. */
  readonly container?: string;
  /** Lines from the end, 1 to 100,000. Default: all, up to 512 KiB. */
  readonly tailLines?: number;
}

/**
 * Requests to the API server, as the account of the grant and with the rights of the operation's rules. The operator sends them: the
 * plugin's process has no token and no network. What the API server refuses is thrown as an {@link ApiError}.
 */
export interface PluginClient {
  /** Undefined: there is no such object. */
  get<T extends KubeObject = KubeObject>(resource: Resource, key: Key): Promise<T | undefined>;
  /** At most 5,000 objects and 8 MiB; more is an error. */
  list<T extends KubeObject = KubeObject>(resource: Resource, options: ListOptions): Promise<readonly T[]>;
  /** Into the namespace that `metadata.namespace` names. */
  create<T extends KubeObject = KubeObject>(resource: Resource, object: T): Promise<T>;
  patch<T extends KubeObject = KubeObject>(
    resource: Resource,
    key: Key,
    body: object,
    options?: PatchOptions,
  ): Promise<T>;
  delete(resource: Resource, key: Key): Promise<void>;
  podLogs(key: Key, options?: PodLogOptions): Promise<string>;
}

export interface PluginClock {
  now(): Date;
  /** Rejects at the time limit. */
  sleep(ms: number): Promise<void>;
}

export type Params = Readonly<Record<string, unknown>>;
/** JSON. Only the words that the metadata declares leave the cluster. */
export type Result = Readonly<Record<string, unknown>>;

export interface OperationCall<P = Params> {
  readonly client: PluginClient;
  /** What `bind` returned, else the params as they were given. They fit the operation's schema. */
  readonly params: P;
  readonly clock: PluginClock;
  /** Aborted at the time limit. At a revocation and at the end of the window the operator kills the process instead. */
  readonly signal: AbortSignal;
  /** Foreign text without what looks like a secret. The operator does the same with the whole result. */
  readonly redact: (text: string) => string;
  /** When the invocation was claimed: the same instant in every try of it. */
  readonly startedAt: Date;
}

/** What one operation of a plugin does. */
export interface Operation<P = Params, R extends Result = Result> {
  /**
   * Called first, in the process in which `run` is called. It refuses with an {@link OperationError} params that fit the schema and
   * yet make no sense, and returns what `run` and `verify` get as `params`.
   */
  bind?(params: Params): P;
  run(call: OperationCall<P>): Promise<R>;
  /** After `run`: reads back and throws an {@link OperationError} when the cluster does not show what was asked for. */
  verify?(call: OperationCall<P>, done: R): Promise<Result>;
}

/** Gives the functions of an operation their types. The default export of `plugin.mjs` has one of these for each operation. */
export function defineOperation<P = Params, R extends Result = Result>(operation: Operation<P, R>): Operation<P, R> {
  return operation;
}

/**
 * The operation looked and said no, or did not find afterwards what was asked for. The engineer reads the message. A program that
 * runs plugins knows it by its name, because there may be two copies of this package.
 */
export class OperationError extends Error {
  override readonly name = "OperationError";
}

/** What the API server refused, by its status and in its words. Known by its name, as {@link OperationError} is. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** Of HTTP: 404 no such object, 403 no right, 409 another was first, 422 the object does not fit. */
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}
