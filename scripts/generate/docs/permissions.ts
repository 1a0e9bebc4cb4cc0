import { isDeepStrictEqual } from "node:util";
import { DEFAULT_NAMES } from "../../../src/crds/group.ts";
import { type DebugRole, debugRoles } from "../../../src/crds/manifests/roles/debug-roles.ts";
import { type MachineRole, machineRoles } from "../../../src/crds/manifests/roles/machine-roles.ts";
import { type ReleaseRole, releaseRoles } from "../../../src/crds/manifests/roles/release-roles.ts";
import { type ReleaseSecretRole, releaseSecretRoles } from "../../../src/crds/manifests/roles/release-secret-roles.ts";
import type { ExplainedRule, ShippedRole } from "../../../src/crds/manifests/roles/shipped-role.ts";
import { shippedRoles } from "../../../src/crds/manifests/roles/shipped-roles.ts";

const REACHES: Readonly<Record<ShippedRole["reach"], string>> = {
  system: "in its own namespace",
  grants: "in the grants namespace",
  opened: "in each opened namespace",
  cluster: "in the whole cluster (the resource has no namespace)",
  "cluster-opened": "in the whole cluster, once you switch an operation of cluster scope on",
  nodes: "in the whole cluster, once you let it read nodes (`observe.nodes`)",
  "name-salt": "in its own namespace, once names are redacted (`observe.redactNames`)",
  metrics: "in the whole cluster, once readers of metrics are checked (`metrics.auth.enabled`)",
  people: "where you bind it; meant for the grants namespace",
};

const HOLDERS = [
  [
    "agent",
    "The agent",
    "It talks to the vendor's platform. It holds no right to change a workload, to read a Secret but the salt of names, or to decide.",
  ],
  [
    "operator",
    "The operator",
    "It talks to the API server only. It holds no right on any workload either: it lends, for the length of a window, one of the operation roles to an account made for one grant.",
  ],
  [
    "grant account",
    "The account of a grant",
    "Made for one grant, with a token of at most an hour. It gets exactly the role of the operation that runs, in the one namespace that the plan names; or in the cluster, where the operation works on an object without a namespace. Switch an operation off with `operations.<plugin>.<operation>.enabled=false`.",
  ],
  [
    "person",
    "People",
    "Nobody has these until you bind them, but for the viewer, whose rights are part of the built-in roles view, edit and admin.",
  ],
] as const;

/** docs/permissions.md: every rule of every role, with its reason. */
export function permissionsPage(): string {
  const roles = shippedRoles(DEFAULT_NAMES);
  const whereApproversLend = shippedRoles({ ...DEFAULT_NAMES, lendingMode: "approver" });
  const others = whereApproversLend.filter((role) => !roles.some((each) => isDeepStrictEqual(each, role)));
  return `${[
    "<!-- Made by `npm run generate` from src/crds/manifests. Do not edit. -->",
    "# Permissions",
    "Every right that an installation has, and why. No rule has a wildcard; none reaches pod exec (but the role of debug sessions' mode `exec`, which is off by default), escalate or impersonate, nor\nSecrets, but for one of its own that `observe.redactNames` adds, and the join server's own key with `machines.enabled`. With `rbac.scope: namespaces` the same rules are Roles in the opened namespaces instead of ClusterRoles; the\none that stays is the look at the admission policies, which `rbac.selfCheck=false` removes; `observe.nodes` and `metrics.auth.enabled` add their own. With `observe.scope: cluster` the role `sallyport-agent-observe` holds in the whole cluster, and not in the opened namespaces alone. Who installs that way holds the\nroles of `deploy/manifests/installer.yaml`: the same rules again, as a person can hand out only what the person has.",
    "What RBAC cannot say is said by admission policies: a decision needs a person with the right `approve`, the operator may\nbind only its operation roles to grant accounts and never in a system namespace, and any other lender is a person who may\napprove its tier, tokens are for grant accounts only, a\nrestart changes nothing but the restart annotation, and a cordon nothing but `spec.unschedulable`.",
    ...HOLDERS.flatMap(([holder, title, about]) => [
      `## ${title}`,
      about,
      ...roles.filter((role) => role.holder === holder).flatMap(section),
    ]),
    "## Plugins of the vendor",
    "With `plugins` in the values there is one role more for each operation that is on, `sallyport-op-<plugin>-<operation>`: exactly the rules that stand there, held by the account of a grant in one opened namespace while the operation runs. The operator (or the lender) may bind it by its name. One whose rules have `patch` on workloads also has the verb `change` on `workloads` of `sallyport.dev`, which no API serves: by it the policy `sallyport-rollout-restart` knows that account, and lets it change a workload's labels, annotations, replicas and rollout, and nothing of its pods. The chart and the operator refuse rules with wildcards, Secrets, accounts, RBAC, Sallyport's own objects, and what starts pods.",
    "## Where approvers lend",
    "With `lending.mode: approver` these take the place of those of the same name. There the operator has no right to bind a role,\nor to make a binding; what runs by itself runs as the account `sallyport-auto`, which policy admins bind.",
    ...others.flatMap(section),
    "## Debug sessions",
    "Only with `debugSessions.enabled`, or `deploy/manifests/debug-sessions.yaml`; not with `rbac.scope: namespaces`. A mode that is off in\n`debugSessions.modes` has no role, and the operator may not lend it. Admission policies narrow the rest: the operator binds a mode's\nrole to accounts of sessions alone, the tunnel writes `status.tunnel` and nothing else, and takes tokens of accounts of\nsessions alone. No mode writes an object; `exec` runs commands in containers.",
    ...debugRoles(DEFAULT_NAMES).flatMap(debugSection),
    "## Releases",
    "Only with `releases.enabled`, or `deploy/manifests/releases.yaml`; not with `rbac.scope: namespaces`. A kind that `releases.kinds` leaves out has no\nrule. Admission policies narrow the rest: the account that plans changes nothing, the one that carries a rollout out touches nothing but what a\nrelease has installed, the operator binds the role to these two alone and for two hours at most, and what was shown for approval stays as it was.",
    ...releaseRoles(DEFAULT_NAMES, undefined, true).flatMap(releaseSection),
    "### Secrets of releases",
    "Only with `releases.secrets`, as is the rule for Secrets above. Admission policies narrow it: the agent makes Secrets that are named after the\ndeployment of their label, immutable and of bounded size; the accounts of a rollout make and delete such Secrets alone, change none, and give their\npods no Secret of another deployment's configuration.",
    ...releaseSecretRoles(DEFAULT_NAMES).flatMap(releaseSecretSection),
    "## Machines",
    "Only with `machines.enabled`, or `deploy/manifests/machines.yaml`. The right to delete pods is there with `machines.allowForce` alone, and the right to\nhave serving certificates signed with `machines.signServing`; both are shown here. Admission policies narrow the rest: the machine\ncontroller approves its own requests for joins that were let in and renewals of joined machines, changes nothing of a node but what a cordon\nneeds, and evicts pods by their uid; the join server creates joins and drains of machines that leave, and says on a pool where it listens.",
    ...machineRoles(DEFAULT_NAMES, { allowForce: true, signServing: true }).flatMap(machineSection),
    ...WITHOUT,
  ].join("\n\n")}\n`;
}

/** Each line is a case of test/integration/rules-removed. */
const WITHOUT: readonly string[] = [
  "## When a rule is missing",
  "Agent and operator ask the API server once a minute (`SALLYPORT_ACCESS_CHECK_INTERVAL`) which of the rules above they have.\nA missing one ends no process and costs only what needs it; given back, it is used again without a restart.",
  [
    "| Missing | Then | Told by |",
    "|---|---|---|",
    "| any | – | one log line, an event `RuleMissing` in the grants namespace (`kubectl -n sallyport-grants get events`), `sallyport_agent_missing_rights` and `sallyport_operator_missing_rights` |",
    "| a rule of the agent | what it is for stops: requests and commands wait at the platform, reports are incomplete and say so | condition `Permitted` of each ManagedDeployment |",
    "| a rule of the operator that a plan needs | the request is shown, and cannot run | condition `Permitted` of the AccessGrant, before a person approves it |",
    "| reading grants, invocations, policies or deployments | the operator closes what is to be closed and starts nothing: it does not decide by what it last saw | condition `Authorized=Unknown, RuleMissing` of waiting invocations |",
    "| making accounts or their tokens | commands wait and use up no line of a plan | the same |",
    "| binding in an opened namespace, or one operation's role | commands fail with the API server's words, nothing was done | the command's error |",
    "| looking at the admission policies | everything goes on; names of approvers are not vouched for | condition `IdentityVerified=False, NotEnforced` |",
    "| the lease | the leader ends once, and waits to lead after its restart | log, event, readiness stays |",
    "| writing events | everything goes on | the conditions above |",
  ].join("\n"),
];

const DEBUG_REACHES: Readonly<Record<DebugRole["reach"], string>> = {
  grants: "in the grants namespace",
  accounts: "in the namespace `sallyport-debug`",
  opened: "in each opened namespace",
  cluster: "in the whole cluster (the resource has no namespace)",
};

function debugSection({ name, holder, reach, about, rules }: DebugRole): readonly string[] {
  return table(name, `${DEBUG_REACHES[reach]}, of the ${holder}`, about, rules);
}

const RELEASE_REACHES: Readonly<Record<ReleaseRole["reach"], string>> = {
  grants: "in the grants namespace",
  opened: "in each opened namespace",
  cluster: "in the whole cluster (the resource has no namespace)",
};

function releaseSection({ name, holder, reach, about, rules }: ReleaseRole): readonly string[] {
  return table(name, `${RELEASE_REACHES[reach]}, of the ${holder}`, about, rules);
}

function releaseSecretSection({ name, holder, reach, about, rules }: ReleaseSecretRole): readonly string[] {
  const where = reach === "system" ? "in its own namespace" : "in the namespace `sallyport-releases`";
  return table(name, `${where}, of the ${holder}`, about, rules);
}

const MACHINE_REACHES: Readonly<Record<MachineRole["reach"], string>> = {
  grants: "in the grants namespace",
  system: "in its own namespace",
  "node-leases": "in the namespace `kube-node-lease`",
  cluster: "in the whole cluster",
};

const MACHINE_HOLDERS: Readonly<Record<MachineRole["holder"], string>> = {
  agent: "of the agent",
  operator: "of the operator",
  join: "of the join server",
  machines: "of the machine controller",
  person: "of people, once you bind it",
};

function machineSection({ name, holder, reach, about, rules }: MachineRole): readonly string[] {
  return table(name, `${MACHINE_REACHES[reach]}, ${MACHINE_HOLDERS[holder]}`, about, rules);
}

function section({ name, reach, about, rules }: ShippedRole): readonly string[] {
  return table(name, REACHES[reach], about, rules);
}

function table(name: string, where: string, about: string, rules: readonly ExplainedRule[]): readonly string[] {
  const rows = rules.map((rule) => `| ${resourcesOf(rule)} | ${rule.verbs.join(", ")} | ${rule.why} |`);
  return [`### \`${name}\`, ${where}`, about, ["| On | May | Because |", "|---|---|---|", ...rows].join("\n")];
}

function resourcesOf({ apiGroups, resources, resourceNames, nonResourceURLs }: ExplainedRule): string {
  if (nonResourceURLs !== undefined) return `the path ${nonResourceURLs.map((each) => `\`${each}\``).join(", ")}`;
  const [group = ""] = apiGroups;
  const named = resourceNames === undefined ? "" : ` named ${resourceNames.map((name) => `\`${name}\``).join(", ")}`;
  return `${resources.map((resource) => `\`${resource}\``).join(", ")}${group === "" ? "" : ` (${group})`}${named}`;
}
