import { systemClock } from "../../base/clock.ts";
import { objectName } from "../../crds/group.ts";
import { type AccessGrant, accessGrants } from "../../crds/kinds/access-grant.ts";
import { type DebugSession, debugSessions } from "../../crds/kinds/debug-session.ts";
import { type OperationInvocation, operationInvocations } from "../../crds/kinds/operation-invocation.ts";
import { type OperationPolicy, operationPolicies } from "../../crds/kinds/operation-policy.ts";
import type { Client } from "../../kube/client/client.ts";
import { watch } from "../kernel/watch.ts";
import { type Command, FriendlyError, UsageError } from "../kernel/command.ts";
import { formatOf, render } from "../kernel/output.ts";
import { planText } from "./approval.ts";
import { currentOf } from "./current-params.ts";
import { CLUSTER_FLAGS_HELP, CODES, inCluster, typed } from "./customer-cluster.ts";
import { policyVerdict } from "./policy-verdict.ts";
import { listed, waitingRequests } from "./requests.ts";
import { timelineOf } from "./timeline.ts";

/** What one command of `kubectl sallyport` is given. */
interface Asked {
  readonly client: Client;
  readonly namespace: string;
  /** The words after the command. */
  readonly words: readonly string[];
  readonly texts: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

interface Verb {
  readonly name: string;
  readonly summary: string;
  /** The words that it takes. */
  readonly takes: readonly string[];
  /** Flags of its own, each with a text. */
  readonly flags?: Readonly<Record<string, string>>;
  /** @returns what is printed: a text, or a value in the form that `-o` names */
  read(asked: Asked): Promise<unknown>;
  readonly follows?: true;
}

const VERBS: readonly Verb[] = [
  {
    name: "requests",
    summary: "What waits for a decision, oldest first.",
    takes: [],
    read: ({ client, namespace, signal }) => waitingRequests(client, namespace, systemClock.wallNow(), signal),
  },
  {
    name: "watch",
    summary: "The same, shown again when it changes, until Ctrl-C.",
    takes: [],
    follows: true,
    read: ({ client, namespace, signal }) => waitingRequests(client, namespace, systemClock.wallNow(), signal),
  },
  {
    name: "show",
    summary: "A request and its plan, with what it would change of what runs now.",
    takes: ["NAME"],
    async read(asked) {
      const grant = await grantNamed(asked);
      return planText(grant, await currentOf(asked.client, grant.spec.commands, asked.signal));
    },
  },
  {
    name: "deny",
    summary: "Says no to a request.",
    takes: ["NAME"],
    flags: { reason: "why; the vendor reads it" },
    read: (asked) => decide(asked, "denied", ({ reason }) => ({ deniedReason: reason })),
  },
  {
    name: "revoke",
    summary: "Ends an approved request at once.",
    takes: ["NAME"],
    flags: { reason: "why; the vendor reads it" },
    read: (asked) => decide(asked, "revoked", ({ reason }) => ({ revokedReason: reason })),
  },
  {
    name: "timeline",
    summary: "Who asked, who decided, what ran as which account, with what result.",
    takes: ["NAME"],
    async read(asked) {
      const grant = await grantNamed(asked);
      const { client, namespace, signal } = asked;
      const isOfGrant = ({ spec }: OperationInvocation | DebugSession): boolean =>
        spec.grantName === grant.metadata.name;
      const invocations = await listed<OperationInvocation>(client, operationInvocations, namespace, signal);
      const sessions = await listed<DebugSession>(client, debugSessions, namespace, signal);
      return timelineOf({
        grant,
        invocations: invocations.filter(isOfGrant),
        sessions: sessions.filter(isOfGrant),
      });
    },
  },
  {
    name: "policy",
    summary: "`policy test kubernetes/scale`: what your policies say of a command, and which rule says so.",
    takes: ["test", "COMMAND"],
    flags: { deployment: "the deployment that asks", params: "the command's parameters, as JSON" },
    async read({ client, namespace, words: [test, command = ""], texts, signal }) {
      if (test !== "test") throw new UsageError(`there is no policy ${test}; there is policy test`);
      if (!/^[a-z0-9-]+\/[a-z0-9-]+$/.test(command)) throw new UsageError("a command is PLUGIN/OPERATION");
      const policies = await listed<OperationPolicy>(client, operationPolicies, namespace, signal);
      return policyVerdict(policies, command, paramsOf(texts.params), texts.deployment ?? "");
    },
  },
  {
    name: "inside",
    summary: "Debug sessions that are open, and what for.",
    takes: [],
    async read({ client, namespace, signal }) {
      const sessions = await listed<DebugSession>(client, debugSessions, namespace, signal);
      return sessions.filter(isOpen).map(({ metadata: { name }, spec, status }) => ({
        name,
        state: status?.state,
        owner: spec.owner,
        mode: spec.mode,
        namespace: spec.namespace,
        expiresAt: spec.expiresAt,
        reason: spec.reason,
      }));
    },
  },
];

/** Every command of `kubectl sallyport` that is one question or one patch. */
export const CUSTOMER_VERBS: readonly Command[] = VERBS.map(commandOf);

function commandOf(verb: Verb): Command {
  const usage = ["kubectl sallyport", verb.name, ...verb.takes].join(" ");
  const flags = Object.entries(verb.flags ?? {});
  return {
    name: verb.name,
    summary: verb.summary,
    help: async () =>
      `usage: ${usage} [options]\n\n${verb.summary}\n\n` +
      flags.map(([name, about]) => `  --${name.padEnd(18)}  ${about}\n`).join("") +
      `${CLUSTER_FLAGS_HELP}  -o, --output FORMAT   table (default), json, yaml\n`,
    async run(args, signal) {
      const own = Object.fromEntries(flags.map(([name]) => [name, { type: "string" as const }]));
      const { values, positionals: words } = typed(usage, args, {
        output: { type: "string", short: "o" },
        ...own,
      });
      if (words.length !== verb.takes.length) throw new UsageError(`usage: ${usage}. See kubectl sallyport ${verb.name} --help`);
      const { namespace, kubeconfig, context, output, ...texts } = values as Readonly<Record<string, string>>;
      const format = formatOf(output);
      await inCluster({ kubeconfig, context }, async (client) => {
        const read = async (): Promise<string> => {
          const answer = await verb.read({ client, namespace: namespace ?? "", words, texts, signal });
          return typeof answer === "string" ? answer : render(answer, format);
        };
        const out = (text: string): void => void process.stdout.write(text);
        if (verb.follows === true) await watch(read, { out, clock: systemClock, isTTY: process.stdout.isTTY === true }, signal);
        else out(await read());
      });
      return CODES.done;
    },
  };
}

async function grantNamed({ client, namespace, words: [word = ""], signal }: Asked): Promise<AccessGrant> {
  // The vendor writes `ar_…`; the object's name is the same id in Kubernetes' spelling.
  const name = objectName(word);
  const grant = await client.get<AccessGrant>(accessGrants, { namespace, name }, signal);
  if (grant !== undefined) return grant;
  throw new FriendlyError(`there is no request ${name} in ${namespace}`, { exitCode: CODES.notFound });
}

async function decide(
  asked: Asked,
  done: string,
  spec: (texts: Asked["texts"]) => Readonly<Record<string, string | undefined>>,
): Promise<string> {
  if (!asked.texts.reason) throw new UsageError("--reason says why");
  const { client, namespace, signal } = asked;
  const { name } = (await grantNamed(asked)).metadata;
  const body = { spec: spec(asked.texts) };
  await client.patch(accessGrants, { namespace, name }, { type: "merge", body }, {}, signal);
  return `${name} is ${done}\n`;
}

function paramsOf(text: string | undefined): Readonly<Record<string, unknown>> {
  if (text === undefined) return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Told below, as any other value that is no object.
  }
  throw new UsageError('--params takes a JSON object, such as {"namespace":"shop"}');
}

function isOpen({ status }: DebugSession): boolean {
  return status?.state === "Open" || status?.state === "Opening" || status?.state === "Closing";
}
