import {
  DEBUG_NAMESPACE,
  GROUP,
  type InstallationNames,
  operationRole,
  TIER_LABEL,
  TUNNEL_ACCOUNT,
} from "../../group.ts";
import type { Manifest } from "../../manifest.ts";
import { DEBUG_MODES, DEBUG_OPERATIONS, type DebugMode } from "../../operations/debug.ts";
import { DEBUG_RULES } from "../../operations/debug-rules.ts";
import { DEBUG_MUTATING_POLICIES, DEBUG_VALIDATING_POLICIES } from "../admission/debug-admission.ts";
import { targetBinding } from "./rbac.ts";
import type { RequiredRight } from "./required-rights.ts";
import { type ExplainedRule, rule } from "./shipped-role.ts";

const APIS = "rbac.authorization.k8s.io";
const LOOKS = ["get", "list", "watch"];

/** A role that an installation has only with debug sessions. */
export interface DebugRole {
  readonly name: string;
  readonly holder: "agent" | "operator" | "tunnel" | "session account";
  /** `grants`, `accounts`: in the namespace of sessions, and of their accounts. `opened`: in each opened namespace. */
  readonly reach: "grants" | "accounts" | "opened" | "cluster";
  readonly about: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly rules: readonly ExplainedRule[];
}

const TARGET = "sallyport-operator-debug-target";

/** Every role of debug sessions. None reaches Secrets, ConfigMaps, accounts or roles, and no mode writes an object. */
export function debugRoles(names: InstallationNames): readonly DebugRole[] {
  return [...accountRoles(names), selfCheck(names), target(names), ...DEBUG_MODES.map(modeRole)];
}

function accountRoles({
  agentAccount,
  operatorAccount,
  tunnelAccount = TUNNEL_ACCOUNT,
}: InstallationNames): readonly DebugRole[] {
  const sessions = "debugsessions";
  return [
    {
      name: `${agentAccount}-debug`,
      holder: "agent",
      reach: "grants",
      about: "Asks for debug sessions, and reports what became of them.",
      rules: [
        rule(
          GROUP,
          [sessions],
          ["create", ...LOOKS],
          "Passes on who wants to look, and watches. No patch and no delete: it can neither end, extend nor forge a session.",
        ),
      ],
    },
    {
      name: `${operatorAccount}-debug`,
      holder: "operator",
      reach: "grants",
      about: "Opens and ends debug sessions.",
      rules: [
        rule(GROUP, [sessions], [...LOOKS, "delete"], "Judges each session; removes it seven days after its end."),
        rule(GROUP, [`${sessions}/status`], ["get", "patch"], "Says whether it is open, until when, and why not."),
      ],
    },
    {
      name: `${operatorAccount}-debug-accounts`,
      holder: "operator",
      reach: "accounts",
      about: "Keeps one account a debug session.",
      rules: [
        rule(
          "",
          ["serviceaccounts"],
          ["create", "get", "list", "delete"],
          "Makes the account of a session and removes it at its end. It cannot mint its token.",
        ),
      ],
    },
    {
      name: `${tunnelAccount}-debug`,
      holder: "tunnel",
      reach: "grants",
      about: "Carries open debug sessions.",
      rules: [
        rule(GROUP, [sessions], LOOKS, "Sees which sessions are open, and at once when one is not any more."),
        rule(
          GROUP,
          [`${sessions}/status`],
          ["get", "patch"],
          "Says what it carries. An admission policy narrows it to `status.tunnel`.",
        ),
      ],
    },
    {
      name: `${tunnelAccount}-debug-accounts`,
      holder: "tunnel",
      reach: "accounts",
      about: "Acts as the account of an open debug session.",
      rules: [
        rule(
          "",
          ["serviceaccounts/token"],
          ["create"],
          "A token of at most an hour. An admission policy narrows it to accounts of sessions; nothing else lives in that namespace.",
        ),
      ],
    },
  ];
}

function selfCheck({ operatorAccount }: InstallationNames): DebugRole {
  const looks = (kind: "validating" | "mutating", resourceNames: readonly string[]): ExplainedRule => ({
    ...rule(
      "admissionregistration.k8s.io",
      [`${kind}admissionpolicies`, `${kind}admissionpolicybindings`],
      ["get"],
      "No session is opened while a policy that narrows it is missing.",
    ),
    resourceNames,
  });
  return {
    name: `${operatorAccount}-debug-self-check`,
    holder: "operator",
    reach: "cluster",
    about: "Notices a missing admission policy of debug sessions.",
    rules: [looks("validating", DEBUG_VALIDATING_POLICIES), looks("mutating", DEBUG_MUTATING_POLICIES)],
  };
}

function target({ roleKind = "ClusterRole" }: InstallationNames): DebugRole {
  const lends = rule(
    APIS,
    [roleKind === "ClusterRole" ? "clusterroles" : "roles"],
    ["bind"],
    "It may lend the roles of the modes that are switched on, to the accounts of sessions only.",
  );
  const resourceNames = DEBUG_MODES.map((mode) => operationRole("debug", mode));
  return {
    name: TARGET,
    holder: "operator",
    reach: "opened",
    about: "Lends the role of a mode to the account of one debug session in an opened namespace.",
    rules: [{ ...lends, resourceNames }],
  };
}

const ABOUT: Readonly<Record<DebugMode, string>> = {
  logs: "Reads and follows logs of one namespace.",
  read: "Reads objects and logs of one namespace, without Secrets and ConfigMaps.",
  exec: "Runs commands in containers of one namespace, and reads their logs.",
  "port-forward": "Opens connections to ports of pods in one namespace.",
};

function modeRole(mode: DebugMode): DebugRole {
  const tier = DEBUG_OPERATIONS.find((each) => each.mode === mode)?.tier ?? "destructive";
  const name = operationRole("debug", mode);
  return {
    ...{ name, holder: "session account", reach: "opened" },
    about: ABOUT[mode],
    labels: { [TIER_LABEL]: tier },
    rules: DEBUG_RULES[mode],
  };
}

/** The namespace of the sessions' accounts, the tunnel's account, and every role with the bindings that are always there. */
export function debugRbac(names: InstallationNames): readonly Manifest[] {
  const { systemNamespace, debugNamespace = DEBUG_NAMESPACE, tunnelAccount = TUNNEL_ACCOUNT } = names;
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: debugNamespace } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: tunnelAccount, namespace: systemNamespace } },
    ...debugRoles(names).flatMap((role) => debugRoleManifests(role, names)),
  ];
}

/** One role: with its binding where it holds always, or as the customer opens namespaces. */
function debugRoleManifests(role: DebugRole, names: InstallationNames): readonly Manifest[] {
  const { name, labels, reach, holder } = role;
  const rules = role.rules.map(({ why: _why, ...each }) => each);
  const API = `${APIS}/v1`;
  if (reach === "opened") {
    return [{ apiVersion: API, kind: "ClusterRole", metadata: { name, ...(labels && { labels }) }, rules }];
  }
  const accounts = { agent: names.agentAccount, operator: names.operatorAccount } as const;
  const account =
    holder === "agent" || holder === "operator" ? accounts[holder] : (names.tunnelAccount ?? TUNNEL_ACCOUNT);
  const namespace = reach === "grants" ? names.grantsNamespace : (names.debugNamespace ?? DEBUG_NAMESPACE);
  const kind = reach === "cluster" ? "ClusterRole" : "Role";
  const metadata = { name, ...(reach !== "cluster" && { namespace }) };
  return [
    { apiVersion: API, kind, metadata, rules },
    {
      apiVersion: API,
      kind: `${kind}Binding`,
      metadata,
      roleRef: { apiGroup: APIS, kind, name },
      subjects: [{ kind: "ServiceAccount", name: account, namespace: names.systemNamespace }],
    },
  ];
}

/** In an opened namespace: lets the operator lend the roles of modes there. */
export function debugTargetBinding(namespace: string, names: InstallationNames): Manifest {
  return targetBinding(TARGET, names.operatorAccount, namespace, names);
}

/** The rights that the operator needs for sessions of these modes, from the rules of which the manifests are made. */
export function debugRights(
  names: InstallationNames,
  opened: readonly string[],
  modes: readonly DebugMode[],
): readonly RequiredRight[] {
  const { grantsNamespace, debugNamespace = DEBUG_NAMESPACE } = names;
  const places = { grants: [grantsNamespace], accounts: [debugNamespace], opened, cluster: [] };
  const lent = modes.map((mode) => operationRole("debug", mode));
  const needed = debugRoles(names).filter(({ holder }) => holder === "operator");
  return needed.flatMap(({ name: role, reach, rules }) =>
    places[reach].flatMap((namespace) =>
      rules.flatMap(({ apiGroups: [group = ""], resources, verbs, resourceNames }) => {
        const named = resourceNames === undefined ? [{}] : lent.map((name) => ({ name }));
        const where = { group, namespace, role, reach: reach === "opened" ? reach : "grants" } as const;
        return resources.flatMap((resource) =>
          verbs.flatMap((verb) => named.map((name) => ({ verb, resource, ...where, ...name }))),
        );
      }),
    ),
  );
}
