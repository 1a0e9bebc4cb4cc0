/** What a room or a folder is, and what it may import. All that is not listed is refused by `npm run check`. */
export interface Part {
  readonly is: string;
  /** Rooms, or folders of the same room. */
  readonly imports: readonly string[];
  /** npm packages, with all their entry points. A folder without a list may use those of its room. */
  readonly packages?: readonly string[];
}

export interface Room extends Part {
  readonly packages: readonly string[];
  /** The folders in the order of the page, lowest last. A room without them has no rule for its folders. */
  readonly folders?: Readonly<Record<string, Part>>;
}

const PLATFORM_FOLDERS: Readonly<Record<string, Part>> = {
  http: {
    is: "Fastify over the contract, with every check before a handler",
    imports: ["builders", "relay", "areas", "objects", "kernel"],
    packages: ["fastify", "@fastify/swagger-ui"],
  },
  administration: {
    is: "the server's own commands, dump and first start",
    imports: ["areas", "identity", "objects", "kernel", "ports", "database"],
    packages: ["@electric-sql/pglite", "kysely", "tar-stream"],
  },
  builders: {
    is: "packs charts and operators' images beside requests",
    imports: ["areas", "objects", "kernel", "ports", "database"],
    packages: ["canonicalize", "fastify", "kysely", "typebox"],
  },
  relay: {
    is: "joins the two sides of a debug session",
    imports: ["areas", "kernel", "database"],
    packages: ["ws"],
  },
  areas: {
    is: "one folder for each area: routes (HTTP to call), rules and their SQL. `handlers.ts`, `sweeps.ts`, `hooks.ts` list what all areas bring. A hook runs one area's rule after a change in another area",
    imports: ["identity", "objects", "kernel", "ports", "database"],
    packages: ["canonicalize", "fastify", "kysely", "typebox", "yauzl"],
  },
  identity: {
    is: "`users` (people, sign-in, sessions) under `oauth` (clients and their tokens); `api-keys` (how a key is checked)",
    imports: ["kernel", "database"],
    packages: ["fastify", "kysely", "oidc-provider", "openid-client"],
  },
  objects: {
    is: "stored objects and their addresses",
    imports: ["kernel", "ports", "database"],
    packages: ["@smithy/signature-v4", "fastify"],
  },
  "git-hosts": { is: "implements the port of a git host", imports: ["kernel", "ports"], packages: ["typebox"] },
  mail: { is: "implements the port of mail", imports: ["ports"], packages: ["nodemailer"] },
  kernel: {
    is: "a request's call, transaction and events; input, tenancy, budgets, sweeps, metrics",
    imports: ["ports", "database"],
    packages: ["@fastify/proxy-addr", "fastify", "kysely", "pg", "prom-client", "tar-stream", "typebox"],
  },
  ports: { is: "interfaces of what lies outside: object store, mail, git host", imports: [], packages: [] },
  database: {
    is: "opening, migrations, and `tables/<area>.ts`: the rows of every table",
    imports: [],
    packages: ["@electric-sql/pglite", "kysely", "pg", "typebox"],
  },
};

const KUBE_FOLDERS: Readonly<Record<string, Part>> = {
  manager: {
    is: "starts and ends everything, health",
    imports: ["cache", "client", "controller", "election", "events", "serving", "metrics"],
  },
  serving: { is: "what listens: metrics with TLS, and who may read them", imports: ["access", "client"] },
  events: { is: "records Kubernetes events", imports: ["client", "controller", "metrics", "objects"] },
  controller: { is: "work queue and sources", imports: ["cache", "metrics", "objects"] },
  cache: { is: "lists, watches and keeps objects", imports: ["client", "metrics", "objects", "projection"] },
  access: { is: "own rights", imports: ["client"] },
  election: { is: "one leader of several processes", imports: ["client", "metrics", "objects"] },
  client: { is: "requests to the API server", imports: ["metrics", "objects", "projection"] },
  "workload-state": { is: "health and lifecycle of the built-in kinds", imports: ["projection"] },
  projection: { is: "which fields are read", imports: [] },
  metrics: { is: "series of the runtime", imports: [] },
  objects: { is: "kinds, conditions, owners", imports: [] },
};

const AGENT_FOLDERS: Readonly<Record<string, Part>> = {
  heartbeat: { is: "says that the agent lives", imports: ["deployments", "kernel", "platform-link"] },
  "access-requests": {
    is: "grants for requests, and their reports",
    imports: ["commands", "kernel", "platform-link"],
  },
  deployments: {
    is: "accepted deployments, their state and reports",
    imports: ["releases", "observe", "kernel", "platform-link"],
  },
  releases: {
    is: "stacks as objects of the cluster; contents and rollouts for the releases that the platform wants, and their course",
    imports: ["kernel", "platform-link"],
  },
  machines: { is: "wishes of the platform in, an inventory of machines out", imports: ["platform-link", "kernel"] },
  "debug-sessions": { is: "objects for debug sessions, and how they ended", imports: ["kernel", "platform-link"] },
  commands: { is: "invocations for commands, and their results", imports: ["kernel", "platform-link"] },
  observe: { is: "health of workloads", imports: ["lookups", "nodes", "names", "kernel"] },
  nodes: { is: "health of the cluster's nodes", imports: ["names", "kernel"] },
  names: { is: "hides names of pods, claims, nodes and images", imports: ["kernel"] },
  lookups: { is: "what is asked for when needed and not watched", imports: ["kernel"] },
  kernel: { is: "settings, metrics, what the platform lists: `snapshot.ts`", imports: ["platform-link"] },
  "platform-link": { is: "connection, runtime key, work feed", imports: [] },
};

const OPERATOR_FOLDERS: Readonly<Record<string, Part>> = {
  // Not `plugins`: a room has that name, and the rules go by names in paths.
  "custom-operations": {
    is: "operations of the vendor's own: what image and install values say of them, and their requests",
    imports: ["plugin-process", "gate", "operations"],
  },
  "plugin-process": {
    is: "the process in which a plugin's code runs: both ends of its pipe, and its bounds",
    imports: [],
  },
  invocations: { is: "claim, run, result", imports: ["access", "grants", "kernel", "gate", "operations"] },
  "debug-sessions": { is: "open, watch and end a debug session", imports: ["access", "kernel", "gate", "operations"] },
  "machine-drains": { is: "whether a drain that was asked for is covered", imports: ["gate"] },
  rollouts: {
    is: "what a release may apply, whose fields it leaves as they are, and what a rollout does in the cluster",
    imports: ["access", "kernel", "gate"],
  },
  grants: { is: "decide on a grant and its window", imports: ["access", "kernel", "gate", "operations"] },
  access: { is: "accounts, bindings, tokens, their sweep", imports: ["kernel", "gate"] },
  admission: { is: "watches whether the policies are in force", imports: ["kernel", "gate"] },
  kernel: { is: "settings, metrics, events, status", imports: ["gate"] },
  gate: {
    is: "the pure decisions that let an operation or a rollout through",
    imports: ["operations"],
    packages: ["croner"],
  },
  operations: { is: "one `run` and `verify` each", imports: [] },
};

const CLI_FOLDERS: Readonly<Record<string, Part>> = {
  engineer: { is: "every area of the API", imports: ["services", "kernel"] },
  platform: { is: "commands on the database", imports: ["services", "kernel"] },
  check: { is: "`check`", imports: ["services", "kernel"] },
  customer: { is: "`approve`, and all of `kubectl sallyport`", imports: ["kernel"] },
  services: { is: "how a process starts", imports: ["kernel"] },
  kernel: { is: "command, settings, output", imports: [] },
};

const CRDS_FOLDERS: Readonly<Record<string, Part>> = {
  manifests: { is: "`roles` (RBAC), `admission` (policies)", imports: ["kinds", "operations", "released"] },
  kinds: { is: "our kinds, and who may lend and decide", imports: ["operations", "released"] },
  operations: { is: "one file each", imports: ["released"] },
  released: { is: "what a release may install, and the commands of releases", imports: [] },
};

const TUNNEL_FOLDERS: Readonly<Record<string, Part>> = {
  requests: { is: "the pure decision whether a request goes up, and as what", imports: ["kernel"] },
  sessions: {
    is: "which sessions are served, from the claim to the last record",
    imports: ["serving", "audit", "spool", "kernel"],
  },
  serving: {
    is: "the engineer's requests, from TLS to the API server",
    imports: ["requests", "streams", "audit", "kernel"],
  },
  audit: {
    is: "the records of a session, on the disk before a request goes up; recordings",
    imports: ["spool", "kernel"],
  },
  spool: { is: "the bounded folder of their files, and uploads from it", imports: ["kernel"] },
  streams: { is: "readers of what passes by: WebSocket, SPDY; recordings", imports: ["kernel"] },
  kernel: { is: "settings, metrics, the platform's routes", imports: [] },
};

const MACHINE_CONTROLLER_FOLDERS: Readonly<Record<string, Part>> = {
  joins: { is: "machines that are let in and signed", imports: ["drains", "kernel"] },
  loads: { is: "what the pods of each node ask for, for the agent", imports: ["drains", "kernel"] },
  drains: { is: "nodes that are emptied and removed", imports: ["kernel"] },
  kernel: { is: "settings, metrics", imports: [] },
};

const JOIN_FOLDERS: Readonly<Record<string, Part>> = {
  serving: { is: "what machines ask over HTTPS, and its bounds", imports: ["joins", "kernel"] },
  joins: { is: "who may ask, the objects made for it, what is handed out; the server's own key", imports: ["kernel"] },
  kernel: { is: "settings, metrics, the platform's routes", imports: [] },
};

export const ROOMS: Readonly<Record<string, Room>> = {
  base: {
    is: "clock, log, settings, deadlines, back-off, closed metric series: no business words",
    imports: [],
    packages: ["pino", "prom-client"],
  },
  contract: {
    is: "the wire: schemas, one route table, error and role tables; data only",
    imports: [],
    packages: ["canonicalize", "typebox"],
  },
  plugins: {
    is: "what a plugin of the vendor's own says of itself, and the checks of it that platform, command line and operator share",
    imports: ["base"],
    packages: ["@eslint-community/regexpp", "canonicalize", "re2js", "typebox"],
  },
  "plugin-api": {
    is: "what a plugin's code imports: types, `defineOperation`, errors",
    imports: [],
    packages: [],
  },
  "api-client": {
    is: "the Management API's client, derived from the table",
    imports: ["base", "contract"],
    packages: ["openid-client", "p-retry", "undici"],
  },
  platform: {
    is: "the Management API, served",
    imports: ["base", "contract", "plugins"],
    packages: [...new Set(Object.values(PLATFORM_FOLDERS).flatMap(({ packages }) => packages ?? []))].sort(),
    folders: PLATFORM_FOLDERS,
  },
  "debug-link": {
    is: "what both ends of a debug session share: keys, the way through the relay, TLS inside it",
    imports: ["base", "contract"],
    packages: ["canonicalize", "ws"],
  },
  kube: {
    is: "the Kubernetes runtime, no business words",
    imports: ["base"],
    packages: ["prom-client", "undici", "yaml"],
    folders: KUBE_FOLDERS,
  },
  crds: {
    is: "our kinds, policies and RBAC: one source for types, YAML and tests",
    imports: [],
    packages: ["canonicalize", "typebox"],
    folders: CRDS_FOLDERS,
  },
  agent: {
    is: "platform on one side, custom resources on the other",
    imports: ["base", "api-client", "contract", "kube", "crds"],
    packages: ["prom-client"],
    folders: AGENT_FOLDERS,
  },
  operator: {
    is: "custom resources on one side, the cluster on the other",
    imports: ["base", "plugins", "plugin-api", "kube", "crds"],
    packages: ["prom-client"],
    folders: OPERATOR_FOLDERS,
  },
  tunnel: {
    is: "debug sessions: the engineer on one side, the API server on the other",
    imports: ["base", "api-client", "contract", "debug-link", "kube", "crds"],
    packages: ["prom-client", "undici"],
    folders: TUNNEL_FOLDERS,
  },
  // Not `machines`: folders of contract, platform and agent have that name, and the rules go by names in paths.
  "machine-controller": {
    is: "machines: custom resources on one side, nodes and their pods on the other",
    imports: ["base", "kube", "crds"],
    packages: ["prom-client"],
    folders: MACHINE_CONTROLLER_FOLDERS,
  },
  join: {
    is: "machines that ask to join on one side, platform and custom resources on the other",
    imports: ["base", "api-client", "contract", "debug-link", "kube", "crds"],
    packages: ["prom-client"],
    folders: JOIN_FOLDERS,
  },
  cli: {
    is: "the processes' wiring and the command line",
    imports: [
      "base",
      "api-client",
      "contract",
      "plugins",
      "plugin-api",
      "platform",
      "debug-link",
      "kube",
      "crds",
      "agent",
      "operator",
      "tunnel",
      "join",
      "machine-controller",
    ],
    packages: ["acorn", "fflate", "pino", "pino-pretty", "prom-client", "yaml"],
    folders: CLI_FOLDERS,
  },
};
