import { GROUP, type InstallationNames, operationRole, TIER_LABEL } from "../../group.ts";
import { OPERATIONS } from "../../operations/catalog.ts";
import type { PolicyRule } from "../../operations/operation.ts";
import { MUTATING_POLICIES, VALIDATING_POLICIES } from "../admission/admission.ts";
import { pluginRoleRules } from "../plugin-rules.ts";
import { lenders, operatorTargets } from "./lending-roles.ts";
import { metricsRoles } from "./metrics-roles.ts";
import { nameSaltRole, nodesRole, observeRole } from "./observe-role.ts";
import { type ExplainedRule, leaderElection, rule, type ShippedRole } from "./shipped-role.ts";

/**
 * Every shipped role and its rules. None holds escalate, impersonate or a wildcard, nor
 * Secrets, but for the salt of names where names are redacted. The agent creates requests
 * and reads. The operator reports, and binds shipped roles for a limited time.
 */
export function shippedRoles(names: InstallationNames): readonly ShippedRole[] {
  return [
    ...agent(names),
    ...operator(names),
    ...operatorTargets(names),
    ...people(),
    ...lenders(names),
    ...metricsRoles(names),
    ...operations(),
    ...ofPlugins(names),
  ];
}

const WATCHED = ["accessgrants", "operationinvocations", "operationpolicies", "manageddeployments"];
const ADMISSION = "admissionregistration.k8s.io";
const EVENTS = rule(
  "events.k8s.io",
  ["events"],
  ["create", "patch"],
  "Tells people what happened as Kubernetes events; a repeated one is counted up by a patch.",
);

const LAST_RECEIPT = rule(
  GROUP,
  ["manageddeployments/status"],
  ["patch"],
  "Says which receipt of a deployment is the last one. An admission policy narrows it to that field.",
);

/**
 * Creates and reads. Never patches or deletes a grant: with patch the agent could approve its own request, with delete it
 * could remove a record.
 */
function agent(names: InstallationNames): readonly ShippedRole[] {
  const { agentAccount } = names;
  const mine = { name: agentAccount, holder: "agent" } as const;
  return [
    {
      ...mine,
      reach: "grants",
      about: "Passes on what the vendor asks for, and reads what became of it.",
      rules: [
        rule(
          GROUP,
          ["accessgrants", "operationinvocations"],
          ["create", "get", "list", "watch"],
          "Creates a request or a command, then watches for the decision and the result. No patch and no delete: it can neither forge a decision nor lose a record.",
        ),
        rule(
          GROUP,
          ["manageddeployments"],
          ["create", "get", "list", "watch", "delete"],
          "Shows which deployments the vendor lists for this cluster. No patch: it cannot accept one. An admission policy narrows delete to those that were never accepted.",
        ),
        rule(
          GROUP,
          ["manageddeployments/status"],
          ["get", "patch"],
          "Reports whether each of them waits or is served.",
        ),
        EVENTS,
      ],
    },
    {
      ...mine,
      reach: "system",
      about: "Elects one leader among the agent's replicas.",
      rules: leaderElection(agentAccount),
    },
    observeRole(),
    nodesRole(),
    nameSaltRole(names),
  ];
}

/** Reads grants, writes only their status, makes and removes per-grant accounts. */
function operator({ operatorAccount }: InstallationNames): readonly ShippedRole[] {
  const mine = { name: operatorAccount, holder: "operator" } as const;
  return [
    {
      ...mine,
      reach: "grants",
      about: "Reads decisions, reports on them, and keeps one account a grant.",
      rules: [
        rule(
          GROUP,
          WATCHED,
          ["get", "list", "watch"],
          "Reads decisions, commands, the customer's policy and what is served.",
        ),
        rule(
          GROUP,
          ["accessgrants/status", "operationinvocations/status"],
          ["get", "patch"],
          "Reports, and claims a line of a plan before it runs. The spec, where decisions stand, stays out of its reach.",
        ),
        LAST_RECEIPT,
        rule(
          "",
          ["serviceaccounts"],
          ["create", "get", "list", "delete"],
          "Makes the account that one grant runs with, and removes it at the window's end.",
        ),
        rule(
          "",
          ["serviceaccounts/token"],
          ["create"],
          "Acts as that account, with a token of at most an hour. An admission policy narrows it to grant accounts; its own account lies in another namespace.",
        ),
        EVENTS,
      ],
    },
    {
      ...mine,
      reach: "system",
      about: "Elects one leader among the operator's replicas.",
      rules: leaderElection(operatorAccount),
    },
    {
      name: `${operatorAccount}-self-check`,
      holder: "operator",
      reach: "cluster",
      about: "Notices a missing admission policy.",
      rules: [
        {
          ...rule(
            ADMISSION,
            ["validatingadmissionpolicies", "validatingadmissionpolicybindings"],
            ["get"],
            "Without these policies a decision proves nothing: their absence is shown on each grant and in a metric.",
          ),
          resourceNames: VALIDATING_POLICIES,
        },
        {
          ...rule(
            ADMISSION,
            ["mutatingadmissionpolicies", "mutatingadmissionpolicybindings"],
            ["get"],
            "Tells whether the API server stamps the approver's name.",
          ),
          resourceNames: MUTATING_POLICIES,
        },
      ],
    },
  ];
}

/**
 * The built-in `view`, `edit` and `admin` include its rules: a person who may read a namespace may read its requests.
 */
const AGGREGATE_TO_VIEW = { "rbac.authorization.k8s.io/aggregate-to-view": "true" } as const;

/** The rules of the kind let a patch write `endedReason` once, and nothing else. */
const END_DEBUG = rule(GROUP, ["debugsessions"], ["patch"], "Ends a debug session, with a reason.");
/** Of a rollout a patch writes the customer's words alone; an admission policy says who may say which. */
const STOP_ROLLOUT = rule(
  GROUP,
  ["rollouts"],
  ["patch", "revoke"],
  "Denies, pauses or stops a rollout, with a reason.",
);

const LOOKS = ["get", "list", "watch"];
const READ: readonly ExplainedRule[] = [
  rule(
    GROUP,
    [...WATCHED, "debugsessions", "releasecontents", "rollouts"],
    LOOKS,
    "Sees requests, decisions, runs, policies, debug sessions and what releases install.",
  ),
  rule("", ["events"], LOOKS, "Sees what agent and operator tell of them: `kubectl get events`, `kubectl describe`."),
];

function people(): readonly ShippedRole[] {
  const person = { holder: "person", reach: "people" } as const;
  const approve = (why: string): ExplainedRule => rule(GROUP, ["risks"], ["approve"], why);
  return [
    {
      ...person,
      name: "sallyport-viewer",
      about: "Sees everything, decides nothing. Part of the built-in roles view, edit and admin.",
      labels: AGGREGATE_TO_VIEW,
      rules: READ,
    },
    {
      ...person,
      name: "sallyport-approver",
      about: "Approves, denies and revokes requests of every tier.",
      rules: [
        ...READ,
        rule(
          GROUP,
          ["accessgrants"],
          ["patch", "revoke"],
          "Writes the decision; `revoke` is the right to deny or stop.",
        ),
        END_DEBUG,
        { ...STOP_ROLLOUT, why: "Lets a rollout go on; `revoke` is the right to deny, pause or stop it." },
        approve("The right to say yes, for every tier; asked by an admission policy."),
      ],
    },
    {
      ...person,
      name: "sallyport-approver-read-only",
      about: "Approves requests that only read.",
      rules: [
        ...READ,
        rule(GROUP, ["accessgrants"], ["patch"], "Writes the decision."),
        { ...approve("The right to say yes, for read-only requests only."), resourceNames: ["read-only"] },
      ],
    },
    {
      ...person,
      name: "sallyport-oncall",
      about: "Denies and stops, never approves.",
      rules: [
        ...READ,
        rule(GROUP, ["accessgrants"], ["patch", "revoke"], "Writes the refusal or the stop."),
        END_DEBUG,
        STOP_ROLLOUT,
      ],
    },
    {
      ...person,
      name: "sallyport-policy-admin",
      about:
        "Says what runs by itself, what needs approval and what never runs, and which deployments are served where.",
      rules: [
        ...READ,
        rule(GROUP, ["operationpolicies"], ["create", "update", "patch", "delete"], "Writes the policies."),
        rule(
          GROUP,
          ["manageddeployments"],
          ["patch", "delete"],
          "Accepts a deployment for namespaces, and takes that back.",
        ),
      ],
    },
  ];
}

function operations(): readonly ShippedRole[] {
  return OPERATIONS.map(({ plugin, name, tier, scope, rules, summary }) => ({
    name: operationRole(plugin, name),
    holder: "grant account",
    reach: scope === "cluster" ? "cluster-opened" : "opened",
    about: summary,
    labels: { [TIER_LABEL]: tier },
    rules: rules.map((each) => ({ ...each, why: whyOperation(each) })),
  }));
}

/** What the customer enabled of plugins, in one namespace each. */
function ofPlugins({ plugins = [] }: InstallationNames): readonly ShippedRole[] {
  return plugins.map((each) => ({
    name: operationRole(each.plugin, each.name),
    holder: "grant account",
    reach: "opened",
    about: `Runs ${each.plugin}/${each.name}, which is a plugin's.`,
    labels: { [TIER_LABEL]: each.tier },
    rules: pluginRoleRules(each).map((rule) => ({ ...rule, why: "What the install values give this operation." })),
  }));
}

/** One operation does one job; its rules differ only in whether they read or change. */
function whyOperation({ verbs, resources }: PolicyRule): string {
  const acts = verbs.some((verb) => verb === "patch" || verb === "delete");
  if (verbs.includes("cordon") || verbs.includes("uncordon"))
    return "Is no request of its own: the admission policy lets an account change a node only if it has this right.";
  if (!acts) return "Reads what the operation shows or checks.";
  return verbs.includes("patch") && resources.includes("deployments")
    ? "Reads the workload and sets its restart annotation; an admission policy refuses every other change."
    : "Looks at the object before, changes it, and verifies the change.";
}
