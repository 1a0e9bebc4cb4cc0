import { DEBUG_SESSION_LABEL, GRANT_UID_LABEL, grantAccount } from "../../../src/crds/group.ts";
import { GRANTS, SHOP } from "../../world/people.ts";
import type { Attack, Passage, Stamp } from "../attacks.ts";
import { DEBUG_NAMESPACE, ONCALL } from "../debug/debug-world.ts";
import {
  ACCOUNT,
  account,
  asking,
  binding,
  EXEC,
  hours,
  MINE,
  OPEN,
  PENDING,
  patched,
  status,
  UID,
  type Who,
} from "./debug-writes.ts";
import { CREATE, create } from "./writes.ts";

const OTHER_UID = "1badcafe-0000-4000-8000-000000000002";
const STATUS = "sallyport-tunnel-status";
const TOKENS = "sallyport-tunnel-tokens";
const WORDS = "sallyport-debug-words";
const ACCOUNTS = "sallyport-debug-accounts";
const BINDINGS = "sallyport-operator-bindings";
const OBJECTS = "sallyport-operator-objects";

export const DEBUG_ATTACKS: readonly Attack<Who>[] = [
  {
    title: "a stolen tunnel does not move a session to another state",
    ...{ policy: STATUS, as: "tunnel", words: "may only write status.tunnel" },
    args: () => status(OPEN, { state: "Closing" }),
  },
  {
    title: "nor vouches for itself in a condition",
    ...{ policy: STATUS, as: "tunnel", words: "may only write status.tunnel" },
    args: () =>
      status(OPEN, {
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
    args: () => status(PENDING, { tunnel: { instance: "mine" } }),
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
    args: () => patched(OPEN, { spec: { endedReason: "enough", endedBy: "alice" } }),
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

export const DEBUG_PASSAGES: readonly Passage<Who>[] = [
  {
    title: "the tunnel reports on an open session",
    as: "tunnel",
    passes: ["sallyport-tunnel-status"],
    args: () => status(OPEN, { tunnel: { instance: "t-1", epoch: 1 } }),
  },
  {
    title: "the tunnel takes a session's token",
    as: "tunnel",
    passes: ["sallyport-tunnel-tokens"],
    args: () => ["create", "token", ACCOUNT, "-n", DEBUG_NAMESPACE, "--duration=10m"],
  },
  { title: "the agent asks", as: "agent", passes: ["sallyport-debug-words"], ...create(() => asking({})) },
  {
    title: "the operator makes a session's account",
    as: "operator",
    ...create(() => account("debug-000000000000", { labels: { [DEBUG_SESSION_LABEL]: UID } })),
  },
  { title: "the operator lends a mode to it", as: "operator", ...create(() => binding(EXEC, MINE)) },
  {
    title: "the operator removes it",
    as: "operator",
    args: () => ["delete", "serviceaccount", ACCOUNT, "-n", DEBUG_NAMESPACE, "--dry-run=server"],
  },
  {
    title: "a session's account runs a command in a pod, which no node has",
    ...{ as: "session", passes: ["sallyport-debug-accounts"], ends: "does not have a host assigned" },
    args: ["get", "--raw", `/api/v1/namespaces/${SHOP}/pods/pod/exec?command=ls&stdout=true`],
  },
];

export const DEBUG_STAMPS: readonly Stamp<Who>[] = [
  {
    ...{ policy: "sallyport-stamp-debug-ender", as: "oncall", field: "endedBy", person: ONCALL },
    args: patched(PENDING, { spec: { endedReason: "enough" } }),
  },
];
