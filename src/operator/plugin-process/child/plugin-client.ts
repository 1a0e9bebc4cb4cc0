import { ApiError, type PluginClient } from "../../../plugin-api/index.ts";
import type { CallVerb, ToChild } from "../messages.ts";
import { channel } from "./channel.ts";

type Answer = Extract<ToChild, { type: "answer" | "refusal" }>;

interface Waiting {
  readonly verb: CallVerb;
  /** Where the plugin asked for it: the answer comes in a turn of its own, which knows nothing of that. */
  readonly stack: string | undefined;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** The plugin's end of requests: each goes to the operator as a message, which has the token and sends it. */
export class CallingClient implements PluginClient {
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;

  /** The first request without an answer, such as `patch`. */
  get unanswered(): CallVerb | undefined {
    for (const { verb } of this.#waiting.values()) return verb;
    return undefined;
  }

  readonly get: PluginClient["get"] = (resource, key) => this.#call("get", { resource, key });
  readonly list: PluginClient["list"] = (resource, options) => this.#call("list", { resource, options });
  readonly create: PluginClient["create"] = (resource, object) => this.#call("create", { resource, object });
  readonly patch: PluginClient["patch"] = (resource, key, body, options = {}) =>
    this.#call("patch", { resource, key, body, options });
  readonly delete: PluginClient["delete"] = (resource, key) => this.#call("delete", { resource, key });
  readonly podLogs: PluginClient["podLogs"] = (key, options = {}) => this.#call("podLogs", { key, options });

  answered(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if (answer.type === "answer") waiting?.resolve(answer.value);
    else waiting?.reject(refusalOf(answer, waiting.stack));
  }

  /** The operator sends what was asked for, or ends this process: its answer has the type that was asked for. */
  #call<T>(verb: CallVerb, args: object): Promise<T> {
    this.#last += 1;
    const id = this.#last;
    const { stack } = new Error("a request");
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(id, { verb, stack, resolve: (value) => resolve(value as T), reject });
      channel.send({ type: "call", id, verb, arguments: args as Readonly<Record<string, unknown>> });
    });
  }
}

function refusalOf({ status, message }: Extract<Answer, { type: "refusal" }>, asked: string | undefined): ApiError {
  const error = new ApiError(status, message);
  if (asked !== undefined) error.stack = `${error.name}: ${message}${asked.slice(asked.indexOf("\n"))}`;
  return error;
}
