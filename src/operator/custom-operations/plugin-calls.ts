import { MAX_API_ERROR, printableLine } from "../../crds/printable.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { DeleteOptions, Patch } from "../../kube/client/client-options.ts";
import { AnswerTooLarge } from "../../kube/client/exchange.ts";
import type { DynamicObject, NewObject, ObjectKey, Resource } from "../../kube/objects/resource.ts";
import { isCovered, type PluginRule } from "../../plugins/rules.ts";
import type { Effect, OperationClient } from "../operations/operation.ts";
import type { CallMessage } from "../plugin-process/messages.ts";
import type { CallAnswer } from "../plugin-process/plugin-process.ts";
import { CALL_BOUNDS, type CallArguments, readCall } from "./call-arguments.ts";
import { rightText } from "./rights.ts";

const { objects: LIST_OBJECTS, listBytes: LIST_BYTES, logBytes: LOG_BYTES } = CALL_BOUNDS;

const TOO_LARGE = `the objects have more than ${LIST_BYTES / 1_048_576} MiB`;

export interface CallPorts {
  readonly client: Omit<OperationClient, "getScale">;
  readonly effect: Effect;
  /** Of the customer's values. */
  readonly rules: readonly PluginRule[];
  /** The one namespace that the operation works in. */
  readonly place: string;
}

/**
 * Requests of one run of a plugin, sent by the operator as the account of the grant. The API server judges each by the account's role;
 * here each is held to the rules of this operation and to its namespace before that: another line of the same plan may have lent
 * the same account more.
 */
export class PluginCalls {
  readonly #ports: CallPorts;
  #wasAnswered = false;
  #lostAnswer = false;

  constructor(ports: CallPorts) {
    this.#ports = ports;
  }

  /** A change got no answer. A later one that did says nothing of it. */
  get lostAnswer(): boolean {
    return this.#lostAnswer;
  }

  /**
   * @throws what ends the run: an abort, lost leadership, and an API server that has not answered anything yet, before anything was
   * changed; then the whole run may begin again.
   */
  async answer(call: CallMessage, signal: AbortSignal): Promise<CallAnswer> {
    const read = readCall(call);
    if (typeof read === "string") return refusal(400, read);
    const refused = this.#refused(read);
    if (refused !== undefined) return refusal(403, refused);
    signal.throwIfAborted();
    try {
      const value = await this.#carriedOut(read, signal);
      this.#wasAnswered = true;
      return { ok: true, value };
    } catch (error) {
      if (error instanceof TooMuch) return refusal(413, error.message);
      if (error instanceof Error && error.cause instanceof AnswerTooLarge) return refusal(413, TOO_LARGE);
      if (!(error instanceof ApiError) || this.#isForAnotherTry(error)) throw error;
      return refusal(error.status, printableLine(error.message, MAX_API_ERROR));
    }
  }

  /** The account and its binding are new: the first refusals may mean that the API server has not seen them yet. */
  #isForAnotherTry(error: ApiError): boolean {
    const isEarly = !this.#wasAnswered && (error.isForbidden || error.isUnauthorized);
    return this.#ports.effect.state === "none" && (isEarly || error.isTransient);
  }

  #refused({ verb, resource, subresource, namespace }: CallArguments): string | undefined {
    const { rules, place } = this.#ports;
    const named = subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`;
    const right = { verb, group: resource.group, resource: named };
    if (!isCovered(rules, right)) return `the rules of this operation do not have ${rightText(right)}`;
    if (namespace === place) return undefined;
    return `this operation works in namespace ${place} alone`;
  }

  async #change<T>(request: () => Promise<T>): Promise<T> {
    const { effect } = this.#ports;
    try {
      return await effect.send(request);
    } catch (error) {
      if (effect.state === "sent") this.#lostAnswer = true;
      throw error;
    }
  }

  #carriedOut(call: CallArguments, signal: AbortSignal): Promise<unknown> {
    const { client } = this.#ports;
    const resource: Resource = { ...call.resource, kind: "", namespaced: true };
    const key: ObjectKey = { name: call.name, namespace: call.namespace };
    switch (call.does) {
      case "get":
        return client.get(resource, key, signal).then(shown);
      case "list":
        return this.#listed(resource, call, signal);
      case "create":
        return this.#change(() => client.create(resource, call.body as NewObject<DynamicObject>, signal)).then(shown);
      case "patch": {
        const { subresource } = call;
        const patch = { type: call.patchType, body: call.body } as Patch;
        const options = subresource === undefined ? {} : { subresource };
        return this.#change(() => client.patch(resource, key, patch, options, signal)).then(shown);
      }
      case "delete": {
        // What the object owns goes with it. The default of some kinds (jobs, replication controllers) lets their pods run on.
        const options: DeleteOptions = { propagationPolicy: "Background" };
        return this.#change(() => client.delete(resource, key, options, signal)).then(() => undefined);
      }
      case "podLogs":
        return client.podLogs(key, { ...call.log, limitBytes: LOG_BYTES }, signal);
    }
  }

  async #listed(resource: Resource, call: CallArguments, signal: AbortSignal): Promise<readonly object[]> {
    const { labelSelector, namespace } = call;
    // A page is 500 objects: of large ones more than the operator has memory for.
    const options = { namespace, pageBytes: LIST_BYTES, ...(labelSelector !== undefined && { labelSelector }) };
    const all: object[] = [];
    let bytes = 0;
    for await (const each of this.#ports.client.list(resource, options, signal)) {
      const object = shown(each);
      bytes += JSON.stringify(object).length;
      all.push(object);
      if (all.length > LIST_OBJECTS) throw new TooMuch(`there are more than ${LIST_OBJECTS} objects`);
      if (bytes > LIST_BYTES) throw new TooMuch(TOO_LARGE);
    }
    return all;
  }
}

class TooMuch extends Error {
  override readonly name = "TooMuch";
}

function refusal(status: number, message: string): CallAnswer {
  return { ok: false, status, message };
}

/** As the API server sent it, without the record of who wrote which field; an item of a list has no kind of its own. */
function shown<T extends DynamicObject | undefined>(object: T): T {
  if (object === undefined) return object;
  const { managedFields: _, ...metadata } = object.metadata as unknown as Record<string, unknown>;
  const { kind, ...rest } = object;
  return { ...(kind !== "" && { kind }), ...rest, metadata } as unknown as T;
}
