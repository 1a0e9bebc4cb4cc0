import { GRANT_UID_LABEL, grantAccount } from "../../../src/crds/group.ts";
import { planAccount, ROLLOUT_UID_LABEL, rolloutAccount } from "../../../src/crds/release-names.ts";
import { GRANTS } from "../../world/people.ts";
import type { Attack } from "../attacks.ts";
import { ownerOf, ROLLOUT_UID } from "../releases/released-objects.ts";
import {
  account,
  BINDINGS,
  binding,
  CONTENT,
  content,
  DIGEST,
  MADE,
  OTHER_DIGEST,
  OTHER_UID,
  owner,
  rollout,
  say,
  UNNAMED,
  type Who,
  WORDS,
} from "./release-writes.ts";
import { create } from "./writes.ts";

// Words on a rollout, and what the operator makes for one.

export const WORD_ATTACKS: readonly Attack<Who>[] = [
  {
    title: "a stolen agent asks for no rollout that is paused, and shown as another than it is",
    ...{ policy: WORDS, as: "agent", words: "created without the customer's words" },
    ...create(() => rollout("asked", { pausedReason: "run this" })),
  },
  {
    title: "nor for one that another controller takes for its own",
    ...{ policy: WORDS, as: "agent", words: "takes no label and no annotation" },
    ...create(() => rollout("asked", {}, { labels: { "app.kubernetes.io/managed-by": "Helm" } })),
  },
  {
    title: "nor for one that cannot be deleted",
    ...{ policy: WORDS, as: "agent", words: "takes no finalizer and no owner" },
    ...create(() => rollout("asked", {}, { finalizers: ["example.com/keep"] })),
  },
  {
    title: "nor lets its own go on",
    ...{ policy: WORDS, as: "agent", words: "a service account or node cannot decide" },
    args: () => say("waiting", { approvedDigest: DIGEST }),
  },
  {
    title: "nor does a stolen operator",
    ...{ policy: WORDS, as: "operator", words: "a service account or node cannot decide" },
    args: () => say("waiting", { approvedDigest: DIGEST }),
  },
  {
    title: "nor takes over the customer's fields",
    ...{ policy: WORDS, as: "operator", words: "a service account or node cannot decide" },
    args: () => say("waiting", { takeOver: [{ kind: "Deployment", name: "web" }] }),
  },
  {
    title: "nor removes the record of a rollout that goes on",
    ...{ policy: WORDS, as: "operator", words: "only the record of a rollout that has ended" },
    args: () => ["delete", "rout", "waiting", "-n", GRANTS, "--dry-run=server"],
  },
  {
    title: "a person without the right lets no rollout go on",
    ...{ policy: WORDS, as: "oncall", words: "the right to approve mutating changes" },
    args: () => say("waiting", { approvedDigest: DIGEST }),
  },
  {
    title: "nor takes fields over",
    ...{ policy: WORDS, as: "oncall", words: "the right to approve mutating changes" },
    args: () => say("waiting", { takeOver: [{ kind: "Deployment", name: "web" }] }),
  },
  {
    title: "nor lets one go on that an approver has paused",
    ...{ policy: WORDS, as: "oncall", words: "the right to approve mutating changes" },
    args: () => say("paused", { pausedReason: null }),
  },
  {
    title: "nor lets a deletion go on, with the right to approve changes alone",
    ...{ policy: WORDS, as: "mutator", words: "the right to approve destructive changes" },
    args: () => say("leaving", { approvedDigest: DIGEST }),
  },
  {
    title: "nor an update go on that deletes what it makes anew",
    ...{ policy: WORDS, as: "mutator", words: "the right to approve destructive changes" },
    args: () => say("anew", { approvedDigest: DIGEST }),
  },
  {
    title: "nor one that deletes what the new release lacks",
    ...{ policy: WORDS, as: "mutator", words: "the right to approve destructive changes" },
    args: () => say("pruning", { approvedDigest: DIGEST }),
  },
  {
    title: "nor takes fields over before the plan shows what is deleted",
    ...{ policy: WORDS, as: "mutator", words: "the right to approve destructive changes" },
    args: () => say("denied", { takeOver: [{ kind: "Deployment", name: "web" }] }),
  },
  {
    title: "a stranger denies none",
    ...{ policy: WORDS, as: "stranger", words: "you need the verb revoke on it" },
    args: () => say("waiting", { deniedReason: "no" }),
  },
  {
    title: "nor aborts one",
    ...{ policy: WORDS, as: "stranger", words: "you need the verb revoke on it" },
    args: () => say("waiting", { abortReason: "no" }),
  },
  {
    title: "nor pauses one",
    ...{ policy: WORDS, as: "stranger", words: "you need the verb revoke on it" },
    args: () => say("waiting", { pausedReason: "no" }),
  },
  {
    title: "an approver allows nothing but what was planned",
    ...{ policy: WORDS, as: "approver", words: "must be what was planned and shown" },
    args: () => say("waiting", { approvedDigest: OTHER_DIGEST }),
  },
  {
    title: "an approver approves in no other person's name",
    ...{ policy: WORDS, as: "approver", words: "approvedBy must be the user who" },
    args: () => say("waiting", { approvedDigest: DIGEST, approvedBy: "bob" }),
  },
  {
    title: "nor denies so",
    ...{ policy: WORDS, as: "approver", words: "deniedBy must be the user who" },
    args: () => say("waiting", { deniedReason: "no", deniedBy: "bob" }),
  },
  {
    title: "nor aborts so",
    ...{ policy: WORDS, as: "approver", words: "abortedBy must be the user who" },
    args: () => say("waiting", { abortReason: "no", abortedBy: "bob" }),
  },
  {
    title: "what was shown is not changed afterwards, by an admin either",
    ...{ policy: CONTENT, as: "admin", words: "the content of a release is immutable" },
    args: () => [
      ...["patch", "relc", "rel-1", "-n", GRANTS, "--type=json", "--dry-run=server", "-p"],
      '[{"op":"replace","path":"/spec/objects/0/manifest/spec/template/spec/containers/0/image","value":"evil:1"}]',
    ],
  },
  {
    title: "nor kept from being deleted by the agent",
    ...{ policy: CONTENT, as: "agent", words: "takes no finalizer and no owner" },
    ...create(() => content("rel-2", { finalizers: ["example.com/keep"] })),
  },
  {
    title: "a stolen operator lends the role of releases to no account of another rollout than the label's",
    ...{ policy: BINDINGS, as: "operator", words: "only bind the grant's own ServiceAccount" },
    ...create(() => binding({ account: rolloutAccount(ownerOf(OTHER_UID)) })),
  },
  {
    title: "nor to the account of a grant, which no policy for releases holds",
    ...{ policy: BINDINGS, as: "operator", words: "only bind the grant's own ServiceAccount" },
    ...create(() => binding({ account: grantAccount(ROLLOUT_UID) })),
  },
  {
    title: "nor by a grant's label",
    ...{ policy: BINDINGS, as: "operator", words: "only make RoleBindings labelled" },
    ...create(() => binding({ account: grantAccount(ROLLOUT_UID), labels: { [GRANT_UID_LABEL]: ROLLOUT_UID } })),
  },
  {
    title: "nor another role to the account of a rollout",
    ...{ policy: BINDINGS, as: "operator", words: "only make RoleBindings labelled" },
    ...create(() => binding({ role: "sallyport-op-kubernetes-logs" })),
  },
  {
    title: "nor by a binding of another name",
    ...{ policy: BINDINGS, as: "operator", words: "only bind the grant's own ServiceAccount" },
    ...create(() => binding({ name: "mine" })),
  },
  {
    title: "nor to one whose name says no deployment",
    ...{ policy: BINDINGS, as: "operator", words: "only bind the grant's own ServiceAccount" },
    ...create(() => binding({ account: UNNAMED })),
  },
  {
    title: "nor for more than two hours",
    ...{ policy: BINDINGS, as: "operator", words: "two hours at most" },
    ...create(() => binding({ minutes: 130 })),
  },
  {
    title: "nor in the whole cluster",
    ...{ policy: BINDINGS, as: "operator", words: "may not touch ClusterRoleBindings" },
    ...create(() => binding({ kind: "ClusterRoleBinding" })),
  },
  {
    title: "nor in a system namespace",
    ...{ policy: BINDINGS, as: "operator", words: "may not bind roles in a system namespace" },
    ...create(() => binding({ namespace: "kube-system" })),
  },
  {
    title: "nor makes an account with a right outside of the cluster",
    ...{ policy: MADE, as: "operator", words: "no other label or annotation" },
    ...create(() => account(planAccount(ownerOf(OTHER_UID)), { annotations: { "eks.amazonaws.com/role-arn": "arn" } })),
  },
  {
    title: "nor makes an account that is named after another rollout than the one it is labelled with",
    ...{ policy: MADE, as: "operator", words: "named after that rollout" },
    ...create(() => {
      const labels = { [ROLLOUT_UID_LABEL]: ROLLOUT_UID };
      return account(rolloutAccount(ownerOf(OTHER_UID)), { labels, ownerReferences: [owner(ROLLOUT_UID)] });
    }),
  },
  {
    title: "nor one that is there without its rollout",
    ...{ policy: MADE, as: "operator", words: "named after that rollout" },
    ...create(() => account(rolloutAccount(ownerOf(OTHER_UID)), { labels: { [ROLLOUT_UID_LABEL]: OTHER_UID } })),
  },
  {
    title: "nor takes a token of an account that is no rollout's",
    ...{ policy: "sallyport-operator-tokens", as: "operator", words: "only mint tokens for grant accounts" },
    args: () => ["create", "token", "default", "-n", GRANTS],
  },
  {
    title: "nor brings a command before the eyes of who reads a plan",
    ...{ policy: "sallyport-no-commands-in-status", as: "operator", words: "holds no command" },
    args: () => [
      ...["patch", "rout", "waiting", "-n", GRANTS, "--type=merge", "--subresource=status", "--dry-run=server", "-p"],
      JSON.stringify({
        status: { plan: { create: 0, change: 0, prune: 0, unchanged: 0, changes: ["run kubectl now"] } },
      }),
    ],
  },
  {
    title: "a person gives the role of releases to no account of a grant",
    ...{ policy: "sallyport-lending", as: "admin", words: "lent by the operator alone" },
    ...create(() => binding({ account: grantAccount(ROLLOUT_UID), labels: {} })),
  },
];

/** What comes of it when the API server writes no name. */
export const NAMELESS: Attack<Who> = {
  title: "an approver lets none go on without a name",
  ...{ policy: "sallyport-named-rollout-words", as: "approver", words: "approvedDigest carries no name" },
  without: "sallyport-stamp-rollout-approver",
  args: say("unnamed", { approvedDigest: DIGEST }),
};
