import { afterAll } from "vitest";
import { ApiUser } from "../../../lab/cluster/api-user.ts";
import type { Cluster } from "../../../lab/cluster/cluster.ts";
import type { KubectlResult } from "../../../lab/cluster/kubectl.ts";
import { parseCommandLine } from "./command-line.ts";
import { type CommandRequest, requestOf } from "./command-request.ts";
import { readServedKinds, type ServedKind } from "./served-kinds.ts";

/** One for the tests of a file or of a `describe` that calls it. */
export function useTerminal(cluster: () => Cluster): Terminal {
  const terminal = new Terminal(cluster);
  afterAll(() => terminal[Symbol.dispose]());
  return terminal;
}

/**
 * Runs lines of kubectl as the requests that they are, by the same user: a process costs 0.2 s of CPU each time, a
 * request a hundredth. What `requestOf` does not know goes through kubectl.
 */
export class Terminal implements Disposable {
  readonly #cluster: () => Cluster;
  readonly #users = new Map<string, ApiUser>();
  readonly #verbs = new Set<string>();
  /** Read once. kubectl knows what is served later. */
  #kinds: Promise<readonly ServedKind[]> | undefined;

  constructor(cluster: () => Cluster) {
    this.#cluster = cluster;
  }

  /** With the real kubectl when the verb was not typed before, else as the request. */
  type(kubeconfig: string, args: readonly string[], stdin?: string): Promise<KubectlResult> {
    const verb = verbOf(args);
    const how = this.#verbs.has(verb) ? "run" : "kubectl";
    this.#verbs.add(verb);
    return this[how](kubeconfig, args, stdin);
  }

  async run(kubeconfig: string, args: readonly string[], stdin?: string): Promise<KubectlResult> {
    const request = await this.#requestOf(args, stdin);
    if (request === undefined) return this.kubectl(kubeconfig, args, stdin);
    let user = this.#users.get(kubeconfig);
    if (user === undefined) {
      user = new ApiUser(kubeconfig);
      this.#users.set(kubeconfig, user);
    }
    const { status, body, warnings } = await user.request(request.call);
    const warned = warnings.map((warning) => `Warning: ${warning}\n`).join("");
    if (status === 404 && request.isMissingFine) return { code: 0, stdout: "", stderr: "" };
    if (status >= 200 && status < 300) return { code: 0, stdout: printed(request, body), stderr: warned };
    const { reason, message } = body as { readonly reason?: string; readonly message?: string };
    const words = message === undefined ? JSON.stringify(body) : `Error from server (${reason}): ${message}`;
    return { code: 1, stdout: "", stderr: `${warned}${words}\n` };
  }

  /** The real one, for what a person sees. */
  kubectl(kubeconfig: string, args: readonly string[], stdin?: string): Promise<KubectlResult> {
    return this.#cluster().kubectl(args, { kubeconfig, ...(stdin !== undefined && { stdin }) });
  }

  [Symbol.dispose](): void {
    for (const user of this.#users.values()) user[Symbol.dispose]();
    this.#users.clear();
  }

  async #requestOf(args: readonly string[], stdin: string | undefined): Promise<CommandRequest | undefined> {
    const line = parseCommandLine(args);
    if (line === undefined) return undefined;
    const input: unknown = stdin === undefined ? undefined : JSON.parse(stdin);
    this.#kinds ??= readServedKinds(this.#cluster());
    return requestOf(line, input, await this.#kinds);
  }
}

/** `delete`, `create`, `create token`, `patch --type=merge`. */
function verbOf(args: readonly string[]): string {
  const [verb, next = ""] = args;
  const what = verb === "create" && !next.startsWith("-") ? next : "";
  return [verb, what, ...args.filter((arg) => arg === "--raw" || arg.startsWith("--type="))].join(" ");
}

function printed({ done, prints }: CommandRequest, body: unknown): string {
  if (prints === "json") return `${JSON.stringify(body, undefined, 4)}\n`;
  const { kind = "", apiVersion = "", metadata, status } = body as Answered;
  if (prints === "token") return `${status?.token}\n`;
  const [group] = apiVersion.includes("/") ? apiVersion.split("/") : [undefined];
  const named = `${kind.toLowerCase()}${group === undefined ? "" : `.${group}`}/${metadata?.name}`;
  return `${named}${prints === "name" ? "" : ` ${done}`}\n`;
}

interface Answered {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly metadata?: { readonly name?: string };
  readonly status?: { readonly token?: string };
}
