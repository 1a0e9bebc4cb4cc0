import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { DEBUG_SESSION_LABEL, debugAccount, GRANT_UID_LABEL, grantAccount } from "../../../src/crds/group.ts";
import { type DebugSession, debugSessions } from "../../../src/crds/kinds/debug-session.ts";
import { installation, openDebugSessions } from "../../../src/crds/manifests/installation.ts";
import { type Attack, inForce, runAs, testRefusals } from "../attacks.ts";
import { WITH_DEBUG } from "../installed.ts";
import { GRANTS, type OperatorWorld, SHOP } from "../operator/operator-world.ts";
import { signal } from "../wait.ts";
import {
  askSession,
  DEBUG_NAMESPACE,
  debugWorld,
  ONCALL,
  sessionObject,
  setStatus,
  systemNamespace,
} from "./debug-world.ts";

// Neither operator nor tunnel runs. An attacker has the credentials of one account and types any command.

const cluster = useCluster({ holds: WITH_DEBUG });
const UID = "0badcafe-0000-4000-8000-000000000001";
const ACCOUNT = debugAccount(UID);
const OTHER_UID = "1badcafe-0000-4000-8000-000000000002";
let world: OperatorWorld;
let open: DebugSession;
let pending: DebugSession;
type Who = "tunnel" | "agent" | "operator" | "session" | "oncall";
const kubeconfigs: Partial<Record<Who, string>> = {};

const patched = (name: string, body: object, ...more: string[]): readonly string[] => [
  ...["patch", "dbg", name, "-n", GRANTS, "--type=merge", "--dry-run=server", "-p", JSON.stringify(body), ...more],
];
const status = (name: string, body: object): readonly string[] =>
  patched(name, { status: body }, "--subresource=status");
const CREATE = ["create", "--dry-run=server", "-f", "-"];
const hours = (count: number): string => new Date(Date.now() + count * 3_600_000).toISOString();

function asking(spec: object, metadata: object = {}): object {
  const object = sessionObject("dbg_asked", spec) as { metadata: object };
  return { ...object, metadata: { ...object.metadata, ...metadata } };
}

function binding(
  role: string,
  subject: { readonly name: string; readonly namespace: string },
  metadata: object = { labels: { [DEBUG_SESSION_LABEL]: UID } },
): object {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: {
      name: "mine",
      namespace: SHOP,
      annotations: { "sallyport.dev/expires-at": "2099-01-01T00:00:00Z" },
      ...metadata,
    },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects: [{ kind: "ServiceAccount", ...subject }],
  };
}

const EXEC = "sallyport-op-debug-exec";
const MINE = { name: ACCOUNT, namespace: DEBUG_NAMESPACE };

function account(name: string, metadata: object = {}): object {
  return { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace: DEBUG_NAMESPACE, ...metadata } };
}

const STATUS = "sallyport-tunnel-status";
const TOKENS = "sallyport-tunnel-tokens";
const WORDS = "sallyport-debug-words";
const ACCOUNTS = "sallyport-debug-accounts";
const BINDINGS = "sallyport-operator-bindings";
const OBJECTS = "sallyport-operator-objects";

const ATTACKS: readonly Attack<Who>[] = [
  {
    title: "a stolen tunnel does not move a session to another state",
    ...{ policy: STATUS, as: "tunnel", words: "may only write status.tunnel" },
    args: () => status(open.metadata.name, { state: "Closing" }),
  },
  {
    title: "nor vouches for itself in a condition",
    ...{ policy: STATUS, as: "tunnel", words: "may only write status.tunnel" },
    args: () =>
      status(open.metadata.name, {
        conditions: [
          {
            type: "Audited",
            status: "True",
            reason: "Durable",
            message: "",
            lastTransitionTime: "2026-01-01T00:00:00Z",
          },
        ],
      }),
  },
  {
    title: "nor reports on a session that the operator has not opened",
    ...{ policy: STATUS, as: "tunnel", words: "sessions that were opened only" },
    args: () => status(pending.metadata.name, { tunnel: { instance: "mine" } }),
  },
  {
    title: "a stolen tunnel takes a token of no other account of the sessions' namespace",
    ...{ policy: TOKENS, as: "tunnel", words: "only mint tokens for the accounts of debug sessions" },
    args: () => ["create", "token", "default", "-n", DEBUG_NAMESPACE],
  },
  {
    title: "nor one that lives longer than an hour",
    ...{ policy: TOKENS, as: "tunnel", words: "may not live longer than 3600 seconds" },
    args: () => ["create", "token", ACCOUNT, "-n", DEBUG_NAMESPACE, "--duration=2h"],
  },
  {
    title: "nor one for another audience",
    ...{ policy: TOKENS, as: "tunnel", words: "for the API server only" },
    args: () => ["create", "token", ACCOUNT, "-n", DEBUG_NAMESPACE, "--duration=10m", "--audience=vault"],
  },
  {
    title: "a stolen agent asks for no session that outlives eight hours",
    ...{ policy: WORDS, as: "agent", words: "at most 8 hours after it was asked for" },
    ...{ args: CREATE, stdin: () => asking({ expiresAt: hours(8.1) }) },
  },
  {
    title: "nor one that a finalizer keeps from being deleted",
    ...{ policy: WORDS, as: "agent", words: "takes no finalizer and no owner" },
    ...{ args: CREATE, stdin: () => asking({}, { finalizers: ["example.com/keep"] }) },
  },
  {
    title: "nor one that another controller takes for its own",
    ...{ policy: WORDS, as: "agent", words: "takes no label and no annotation" },
    ...{ args: CREATE, stdin: () => asking({}, { labels: { "app.kubernetes.io/managed-by": "Helm" } }) },
  },
  {
    title: "a person ends a session in no other person's name",
    ...{ policy: WORDS, as: "oncall", words: "endedBy must be the user who ends the session" },
    args: () => patched(open.metadata.name, { spec: { endedReason: "enough", endedBy: "alice" } }),
  },
  {
    title: "the account of a session does not attach, also in a cluster that gives every account every right",
    ...{ policy: ACCOUNTS, as: "session", words: "only connect with exec and port-forward" },
    args: () => ["attach", "pod", "-n", SHOP],
  },
  {
    title: "nor brings an image of its own into a pod",
    ...{ policy: ACCOUNTS, as: "session", words: "only connect with exec and port-forward" },
    args: () => ["debug", "pod/pod", "-n", SHOP, "--image=busybox", "--profile=general"],
  },
  {
    title: "nor goes through a proxy of the API server",
    ...{ policy: ACCOUNTS, as: "session", words: "only connect with exec and port-forward" },
    args: () => ["get", "--raw", `/api/v1/namespaces/${SHOP}/pods/pod/proxy/`],
  },
  {
    title: "nor deletes a pod",
    ...{ policy: ACCOUNTS, as: "session", words: "only connect with exec and port-forward" },
    args: () => ["delete", "pod", "pod", "-n", SHOP, "--dry-run=server"],
  },
  {
    title: "a stolen operator lends a mode to no account of its choice",
    ...{ policy: BINDINGS, as: "operator", words: "a debug session's own of namespace" },
    ...{ args: CREATE, stdin: () => binding(EXEC, { name: "default", namespace: DEBUG_NAMESPACE }) },
  },
  {
    title: "nor to a grant's account, whose token it can mint",
    ...{ policy: BINDINGS, as: "operator", words: "a debug session's own of namespace" },
    ...{
      args: CREATE,
      stdin: () => binding(EXEC, { name: grantAccount(UID), namespace: GRANTS }),
    },
  },
  {
    title: "nor by a grant's label",
    ...{ policy: BINDINGS, as: "operator", words: "only make RoleBindings labelled" },
    ...{
      args: CREATE,
      stdin: () =>
        binding(EXEC, { name: grantAccount(UID), namespace: GRANTS }, { labels: { [GRANT_UID_LABEL]: UID } }),
    },
  },
  {
    title: "nor an operation's role to a session's account",
    ...{ policy: BINDINGS, as: "operator", words: "only make RoleBindings labelled" },
    ...{ args: CREATE, stdin: () => binding("sallyport-op-kubernetes-scale", MINE) },
  },
  {
    title: "nor to the account of another session than the label's",
    ...{ policy: BINDINGS, as: "operator", words: "a debug session's own of namespace" },
    ...{ args: CREATE, stdin: () => binding(EXEC, MINE, { labels: { [DEBUG_SESSION_LABEL]: OTHER_UID } }) },
  },
  {
    title: "nor without an end",
    ...{ policy: BINDINGS, as: "operator", words: "must carry annotation" },
    ...{
      args: CREATE,
      stdin: () => binding(EXEC, MINE, { labels: { [DEBUG_SESSION_LABEL]: UID }, annotations: {} }),
    },
  },
  {
    title: "a stolen operator makes no other account among those of sessions",
    ...{ policy: OBJECTS, as: "operator", words: "may only make accounts of grants" },
    ...{ args: CREATE, stdin: () => account("mine") },
  },
  {
    title: "nor gives one a right outside of the cluster",
    ...{ policy: OBJECTS, as: "operator", words: "no other label or annotation" },
    ...{
      args: CREATE,
      stdin: () => account(ACCOUNT, { annotations: { "eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/admin" } }),
    },
  },
  {
    title: "nor removes one that is no session's",
    ...{ policy: "sallyport-operator-accounts", as: "operator", words: "only remove the accounts of grants and debug" },
    args: () => ["delete", "serviceaccount", "other", "-n", DEBUG_NAMESPACE, "--dry-run=server"],
  },
];

const manifests = () => [...installation().policies, ...openDebugSessions()];
const policies = () => manifests().filter(({ kind }) => kind.startsWith("Validating"));
const attacked = { cluster, kubeconfigs, policies };
const run = runAs<Who>(attacked);

beforeAll(async () => {
  world = await debugWorld(cluster());
  const rights = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" };
  const all = {
    apiGroup: "rbac.authorization.k8s.io",
    kind: "Group",
    name: `system:serviceaccounts:${DEBUG_NAMESPACE}`,
  };
  await cluster().apply([
    account(ACCOUNT) as Record<string, unknown>,
    account("other") as Record<string, unknown>,
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "careless" },
      roleRef: rights,
      subjects: [all],
    },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "pod", namespace: SHOP },
      spec: { containers: [{ name: "main", image: "example.com/main:1", stdin: true }] },
    },
  ]);
  Object.assign(kubeconfigs, {
    operator: world.operatorKubeconfig,
    agent: await cluster().kubeconfigForServiceAccount(systemNamespace, "sallyport-agent"),
    tunnel: await cluster().kubeconfigForServiceAccount(systemNamespace, "sallyport-tunnel"),
    session: await cluster().kubeconfigForServiceAccount(DEBUG_NAMESPACE, ACCOUNT),
    oncall: cluster().kubeconfigFor({ user: ONCALL }),
  });
  [open, pending] = [await askSession(world), await askSession(world)];
  const openedAt = new Date().toISOString();
  await setStatus(world, open, { state: "Open", openedAt, until: hours(0.5), account: ACCOUNT });
  await inForce(ATTACKS, run);
});
afterAll(() => world?.close());

testRefusals(ATTACKS, attacked);

describe("let through", () => {
  test.each([
    [
      "the tunnel reports on an open session",
      "tunnel",
      () => status(open.metadata.name, { tunnel: { instance: "t-1", epoch: 1 } }),
      undefined,
    ],
    [
      "the tunnel takes a session's token",
      "tunnel",
      () => ["create", "token", ACCOUNT, "-n", DEBUG_NAMESPACE, "--duration=10m"],
      undefined,
    ],
    ["the agent asks", "agent", CREATE, () => asking({})],
    [
      "the operator makes a session's account",
      "operator",
      CREATE,
      () => account("debug-000000000000", { labels: { [DEBUG_SESSION_LABEL]: UID } }),
    ],
    ["the operator lends a mode to it", "operator", CREATE, () => binding(EXEC, MINE)],
    [
      "the operator removes it",
      "operator",
      () => ["delete", "serviceaccount", ACCOUNT, "-n", DEBUG_NAMESPACE, "--dry-run=server"],
      undefined,
    ],
  ] as const)("%s", async (_, as, args, stdin) => {
    const { code, stderr } = await run({ as, args, stdin });
    expect({ code, stderr }).toMatchObject({ code: 0 });
  });

  test("a person on call ends a session, and the API server writes their name", async () => {
    const kubeconfig = kubeconfigs.oncall ?? "";
    const args = [
      "patch",
      "dbg",
      pending.metadata.name,
      "-n",
      GRANTS,
      "--type=merge",
      "-p",
      '{"spec":{"endedReason":"enough"}}',
    ];
    expect((await cluster().kubectl(args, { kubeconfig })).stderr).toBe("");
    const key = { namespace: GRANTS, name: pending.metadata.name };
    const ended = await world.admin.get<DebugSession>(debugSessions, key, signal());
    expect(ended?.spec).toMatchObject({ endedReason: "enough", endedBy: ONCALL });
  });

  test("the operator mints no token of a session, and neither the tunnel nor the agent ends or deletes one", async () => {
    const tries: readonly (readonly [Who, readonly string[]])[] = [
      ["operator", ["create", "token", ACCOUNT, "-n", DEBUG_NAMESPACE]],
      ["operator", patched(open.metadata.name, { spec: { endedReason: "x" } })],
      ["tunnel", patched(open.metadata.name, { spec: { endedReason: "x" } })],
      ["agent", patched(open.metadata.name, { spec: { endedReason: "x" } })],
      ["agent", status(open.metadata.name, { tunnel: { instance: "a" } })],
      ["tunnel", ["delete", "dbg", open.metadata.name, "-n", GRANTS]],
      ["agent", ["delete", "dbg", open.metadata.name, "-n", GRANTS]],
      ["tunnel", ["get", "pods", "-n", SHOP]],
      ["tunnel", ["get", "serviceaccounts", "-n", DEBUG_NAMESPACE]],
    ];
    for (const [as, args] of tries) expect((await run({ as, args })).stderr).toContain("orbidden");
  });
});
