import { AGENT_ROUTES } from "../../../src/agent/platform-link/routes.ts";
import type { Route } from "../../../src/contract/wire/route.ts";
import { OPERATIONS } from "../../../src/crds/operations/catalog.ts";
import { RESULT_MARKS, type ResultWords } from "../../../src/crds/operations/result-words.ts";
import { REDACTION_RULES } from "../../../src/crds/redact.ts";
import { JOIN_ROUTES } from "../../../src/join/kernel/routes.ts";
import { TUNNEL_ROUTES } from "../../../src/tunnel/kernel/routes.ts";
import { type Field, fieldsOf } from "./egress-fields.ts";
import { FIELD_WORDS, HEADER_WORDS } from "./egress-words.ts";

interface NamedRoute {
  /** `area.route`. */
  readonly name: string;
  readonly route: Route;
}

/** A field that one of the processes sends. */
export interface SentField extends Field {
  readonly from: string;
  readonly example: string;
}

/** Of all processes; one that two of them call is there once. */
const ROUTES: readonly NamedRoute[] = [
  ...new Map(
    [AGENT_ROUTES, TUNNEL_ROUTES, JOIN_ROUTES]
      .flatMap(Object.entries)
      .flatMap(([area, routes]) =>
        Object.entries<Route>(routes).map(([name, route]) => [`${area}.${name}`, { name: `${area}.${name}`, route }]),
      ),
  ).values(),
];

/** What each route of agent, tunnel and join server sends, by `area.route`. @throws Error when words and contract disagree. */
export function sentFields(): ReadonlyMap<string, readonly SentField[]> {
  const strays = Object.keys(FIELD_WORDS).filter((name) => !ROUTES.some((each) => each.name === name));
  if (strays.length > 0) throw new Error(`no process calls ${strays.join(", ")}`);
  return new Map(ROUTES.map((each) => [each.name, sentOf(each)]));
}

function sentOf({ name, route }: NamedRoute): readonly SentField[] {
  const words = FIELD_WORDS[name];
  if (words === undefined) throw new Error(`nothing says what ${name} sends`);
  const fields = fieldsOf(route);
  return Object.entries(words).map(([path, [from, example]]) => {
    const exact = fields.find((each) => each.path === path);
    // Below a free map the contract has no fields; the words name them.
    const free = fields.find((each) => each.free && path.startsWith(`${each.path}.`));
    if (exact === undefined && free === undefined) throw new Error(`${name} takes no ${path}`);
    const example_ = typeof example === "string" ? example : JSON.stringify(example);
    return { path, type: exact?.type ?? typeOf(example), free: exact?.free ?? false, from, example: example_ };
  });
}

/** Of a field that the contract leaves open, by what stands there. */
function typeOf(example: unknown): string {
  if (typeof example === "number") return "number";
  if (example === null) return "null";
  return typeof example === "boolean" ? "yes or no" : "text";
}

/** Fields of the contract that the agent does not send. */
function unusedOf({ name, route }: NamedRoute): readonly string[] {
  const sent = sentOf({ name, route });
  const isSent = ({ path }: Field): boolean =>
    sent.some((each) => each.path === path || each.path.startsWith(`${path}.`));
  return fieldsOf(route).flatMap((field) => (isSent(field) ? [] : [field.path]));
}

const CHAPTERS = [
  [
    "That the agent lives",
    "Every 60 s, and a long-poll that waits for news. The platform shows these at the manager.",
    ["whoami.get", "managerRuntime.heartbeat", "managerRuntime.work"],
  ],
  [
    "What is served here",
    "Ids that the platform made come back to it; nothing of the cluster is in these.",
    ["sync.list", "sync.acquire", "sync.renew", "sync.release"],
  ],
  [
    "Health and inventory of the workloads in accepted namespaces",
    "About once a minute; a change within about 5 s of it, and what gets worse within about 1 s, up to 10 times a minute. Only Deployments, StatefulSets, DaemonSets, ReplicaSets, Jobs, CronJobs and pods, and names, phase and counts of claims and disruption budgets; each kind is switched off by a value `observe.kinds.<kind>: false`, which takes the agent's right to read it as well. The last events of a workload that is unhealthy or failed, switched off by `observe.events: false`, and cpu and memory of pods, where the cluster measures them, by `observe.metrics: false`; both take that right too. With `observe.nodes: true`, which is off by default, also how the nodes are, one report for the whole cluster. With `observe.redactNames: true`, off by default, no name of a pod, claim, node or image, and no words of controllers. With `observe.labelSelector` only what it selects, of all but nodes. With `observe.scope: cluster` the agent reads all namespaces and reports the same. Only in opened namespaces that you accepted this very deployment for; take one back and it is in no report any more. Of a deployment that you have not accepted, only that it waits.",
    ["sync.reconcile"],
  ],
  [
    "Requests and decisions",
    "That a request became a grant, and what your people decided: name, time, and their reason. After the end of a grant its receipt: the same once more in one document, with each line's account, times and a digest of its result.",
    [
      "accessRelay.pending",
      "accessRelay.materialized",
      "accessRelay.approvals",
      "accessRelay.decisions",
      "accessRelay.receipts",
    ],
  ],
  [
    "Commands and how they ended",
    "Each command that the platform asked for, claimed once and ended once.",
    ["commands.list", "commands.get", "commands.dispatch", "commands.complete"],
  ],
  [
    "Debug sessions",
    "Off by default (`debugSessions.enabled`). The agent asks which sessions wait and tells how each ended. The tunnel, which runs with debug sessions alone, gets a ticket and opens a WebSocket to the same address, `GET /v1/debug-sessions/{id}/tunnel`, with the session's id in the path and the ticket in the header `sec-websocket-protocol`. In it is TLS between the engineer's machine and the tunnel: what `kubectl` may read in the session's mode and namespace leaves the cluster to that engineer, and the platform cannot read it. When a session has ended, its audit file and its recording are sent with `PUT` to the platform's storage, unless `debugSessions.upload` is false: to the platform's own host, or to one that `debugSessions.uploadHosts` names. The audit file has verbs, names of objects and containers, and commands of `exec`, with values that are named as a secret cut out and a hash of the whole; the recording has what terminals showed.",
    ["debugSessions.list", "debugSessions.get", "debugRelay.ticket", "debugSessions.patch"],
  ],
  [
    "Machines",
    "Off by default (`machines.enabled`). The agent asks what is wanted of machines of a deployment that you accepted and that has a MachinePool, and reports them: when they change, at most every 5 s, and at least every 60 s. Reported are the nodes that joined through the pool, those whose name begins with its prefix, and machines that wait to join; no other node. What holds a drain up may be a pod of any namespace: with `machines.reportForeign: false`, of namespaces that are not opened only the namespace is told, and with `observe.redactNames: true` of all. The join server asks the platform whether a machine's token is good, with what the machine says of itself, and tells every minute where machines reach it. It keeps no token.",
    ["machines.actions", "machines.report", "machines.join", "machines.joinServer"],
  ],
] as const;

/** docs/data-that-leaves.md: every field that leaves the cluster. */
export function egressPage(): string {
  const sent = sentFields();
  return `${[
    "<!-- Made by `npm run generate` from src/agent/platform-link/routes.ts, src/tunnel/kernel/routes.ts, src/contract and scripts/generate/egress-*.ts. Do not edit. -->",
    "# Data that leaves the cluster",
    "For a security review. One process sends: the agent, to the one address in `platform.url`, over connections that it opens\nitself; with debug sessions, which are off by default, the tunnel too\n([below](#debug-sessions)), and where machines may join, which is off by default, the join server ([below](#machines)). The operator calls\nnothing but your API server. The table of a process's routes is the table its client is made\nof, so another call cannot be made; tests run these processes with everything they do, record each request, and fail\non a field or header that is not on this page.",
    "The pod of `helm test` calls `GET /v1/whoami` once, with the same key and headers. Your proxy, if you set one, sees the\nplatform's host name and the sizes; the bodies are inside TLS to the platform.",
    "## With every request",
    table([
      ["Header", "From", "Example"],
      ...Object.entries(HEADER_WORDS).map(([name, [from, example]]) => [code(name), from, code(String(example))]),
    ]),
    ...CHAPTERS.flatMap(([title, about, names]) => [
      `## ${title}`,
      about,
      ...names.flatMap((name) => routeSection(name, sent.get(name) ?? [])),
    ]),
    "## What results of operations may carry",
    `\`body.result\` of a completed command. The operation picks these fields; no object is passed on as it is. All texts together\nhold at most 60,000 characters, and what looks like a secret is cut out before the result is stored in the cluster\n(rules: ${REDACTION_RULES.join(", ")}). That is a pattern match, not a promise: who opens logs to the vendor lets the vendor\nread logs. \`operations.<plugin>.<operation>.enabled=false\` takes an operation away for good, an OperationPolicy with \`deny\`\nfor now.`,
    ...OPERATIONS.flatMap(({ command, result }) => [`### \`${command}\``, resultTable(result)]),
    "### Operations of plugins",
    "None, unless `plugins` of the chart enables one. Then the top-level fields that the plugin's metadata lists as `result`, which `sallyport plugin values` prints above its values; every other field is dropped in the cluster, and the bounds above hold.",
    "### Any operation",
    resultTable(RESULT_MARKS),
    "## What never leaves",
    NEVER.map((each) => `- ${each}`).join("\n"),
    "## What the platform would take, and is never sent",
    "Fields of the same requests that other reporters use. They are listed so that their absence is a statement, not a gap.",
    unusedTable(),
  ].join("\n\n")}\n`;
}

const NEVER: readonly string[] = [
  "Secrets and ConfigMaps: no identity of the installation has the right to read one (docs/permissions.md).",
  "Values of environment variables, arguments and commands of containers, volumes, annotations: they are not decoded from what the API server sends. `describe` tells the names of environment variables.",
  "Objects of namespaces that you did not accept for the deployment, and the list of namespaces.",
  "Without machines and `observe.nodes`: nodes, but for the name that a pod bears, and whether the node that you approved an operation on is there and cordoned; cluster name, server version, cloud account.",
  "Custom resources other than the grants, invocations, debug sessions, drains and deployments that came from the platform, but for what the chapter on machines names.",
  "The agent's, the operator's and the tunnel's service account tokens, the tokens of grants' and debug sessions' accounts, kubeconfigs.",
  "Logs and metrics of Sallyport itself: `/metrics` is read by your Prometheus, inside.",
  "The names of approvers who have not decided anything, group memberships, your identity provider.",
];

function routeSection(name: string, fields: readonly SentField[]): readonly string[] {
  const found = ROUTES.find((each) => each.name === name);
  if (found === undefined) throw new Error(`no process calls ${name}`);
  const { method, path, summary } = found.route;
  const rows = fields.map((each) => [code(each.path), each.type, each.from, code(each.example)]);
  const head = [`### ${method} ${path}`, summary];
  return rows.length === 0
    ? [...head, "No field."]
    : [...head, table([["Field", "Type and bounds", "From", "Example"], ...rows])];
}

function resultTable(words: ResultWords): string {
  const rows = Object.entries(words).map(([path, [from, example]]) => [code(path), from, code(String(example))]);
  return table([["Field", "From", "Example"], ...rows]);
}

/** A row for each object of a request, with the names in it. */
function unusedTable(): string {
  const rows = ROUTES.flatMap((route) => {
    const objects = Map.groupBy(unusedOf(route), (path) => path.slice(0, path.lastIndexOf(".")));
    return [...objects].map(([object, paths]) => [
      code(route.name),
      code(object),
      paths.map((path) => code(path.slice(object.length + 1))).join(", "),
    ]);
  });
  return table([["Request", "In", "Fields"], ...rows]);
}

function table([head = [], ...rows]: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), `|${head.map(() => "---").join("|")}|`, ...rows.map(line)].join("\n");
}

function code(text: string): string {
  return `\`${text}\``;
}
