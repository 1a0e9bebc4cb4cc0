import { GROUP, type InstallationNames, RELEASE_ROLE, TIER_LABEL } from "../../group.ts";
import type { Manifest } from "../../manifest.ts";
import { groupOf, RELEASE_RESOURCES } from "../../released/release-kinds.ts";
import { RELEASE_MUTATING_POLICIES, RELEASE_VALIDATING_POLICIES } from "../admission/release-admission.ts";
import { RELEASE_SECRET_POLICIES } from "../admission/release-objects/secret-admission.ts";
import { targetBinding } from "./rbac.ts";
import type { RequiredRight } from "./required-rights.ts";
import { type ExplainedRule, rule } from "./shipped-role.ts";

const APIS = "rbac.authorization.k8s.io";
const API = `${APIS}/v1`;
const LOOKS = ["get", "list", "watch"];

/** A role that an installation has only with releases. */
export interface ReleaseRole {
  readonly name: string;
  readonly holder: "agent" | "operator" | "rollout account";
  readonly reach: "grants" | "opened" | "cluster";
  readonly about: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly rules: readonly ExplainedRule[];
}

const TARGET = "sallyport-operator-release-target";
const MEMBERS = "sallyport-operator-release-members";

/**
 * Every role of releases. None reads Secrets, and none reaches rights or an object without a namespace.
 *
 * @param kinds what releases may install: some of the keys of RELEASE_RESOURCES.
 * @param secrets whether they bring the secret values of their configuration.
 */
export function releaseRoles(
  names: InstallationNames,
  kinds: readonly string[] = Object.keys(RELEASE_RESOURCES),
  secrets = false,
): readonly ReleaseRole[] {
  return [agent(names), operator(names), selfCheck(names), target(names), members(kinds), apply(kinds, secrets)];
}

function agent({ agentAccount }: InstallationNames): ReleaseRole {
  return {
    name: `${agentAccount}-releases`,
    holder: "agent",
    reach: "grants",
    about: "Passes on what a release would install, and reads what became of it.",
    rules: [
      rule(
        GROUP,
        ["releasecontents", "rollouts"],
        ["create", ...LOOKS],
        "Writes the objects of a release and the wish to have them, and watches. No patch and no delete: it can neither allow, change nor hide one.",
      ),
    ],
  };
}

function operator({ operatorAccount }: InstallationNames): ReleaseRole {
  return {
    name: `${operatorAccount}-releases`,
    holder: "operator",
    reach: "grants",
    about: "Plans, carries out and reports rollouts.",
    rules: [
      rule(
        GROUP,
        ["rollouts", "releasecontents"],
        [...LOOKS, "delete"],
        "Reads what is wished for and the customer's words; removes old records. The spec, where decisions stand, stays out of its reach.",
      ),
      rule(
        GROUP,
        ["manageddeployments"],
        ["get", "patch"],
        "Marks the deployment as the parent of what its releases install (KEP-3659). An admission policy narrows it to one label and three annotations.",
      ),
      rule(GROUP, ["rollouts/status"], ["get", "patch"], "Shows the plan before a person allows it, and the progress."),
    ],
  };
}

function selfCheck({ operatorAccount }: InstallationNames): ReleaseRole {
  const looks = (kind: "validating" | "mutating", resourceNames: readonly string[]): ExplainedRule => ({
    ...rule(
      "admissionregistration.k8s.io",
      [`${kind}admissionpolicies`, `${kind}admissionpolicybindings`],
      ["get"],
      "Nothing is rolled out while a policy that narrows it is missing.",
    ),
    resourceNames,
  });
  return {
    name: `${operatorAccount}-release-self-check`,
    holder: "operator",
    reach: "cluster",
    about: "Notices a missing admission policy of releases.",
    rules: [
      looks("validating", [...RELEASE_VALIDATING_POLICIES, ...RELEASE_SECRET_POLICIES]),
      looks("mutating", RELEASE_MUTATING_POLICIES),
    ],
  };
}

function target({ releaseRole = RELEASE_ROLE }: InstallationNames): ReleaseRole {
  return {
    name: TARGET,
    holder: "operator",
    reach: "opened",
    about: "Lends the role of releases to the accounts of one rollout in an opened namespace.",
    rules: [
      {
        ...rule(
          APIS,
          ["clusterroles"],
          ["bind"],
          "It may lend this role, which it does not hold itself. An admission policy narrows it to the two accounts of a rollout, for two hours at most.",
        ),
        resourceNames: [releaseRole],
      },
    ],
  };
}

/** No get, list, watch or patch: each of them would show the customer's own Secrets. */
const SECRETS: ExplainedRule = rule(
  "",
  ["secrets"],
  ["create", "delete"],
  "Only with `releases.secrets`: writes the Secret of a release's configuration, and deletes one that is not needed any more. It reads none. An admission policy narrows it to those of the deployment.",
);

function members(kinds: readonly string[]): ReleaseRole {
  const why =
    "Tells what others have changed of a release, or deleted. It lists metadata alone, which says who owns a field and not what is in it, and reads an object of the release whole only when others own fields of it.";
  return {
    name: MEMBERS,
    holder: "operator",
    reach: "opened",
    about:
      "Notices drift of what releases have installed. The operator has it and not the agent, because the operator talks to no platform. Removed, no drift is told.",
    rules: ruleOfEach(kinds, ["get", "list"], why),
  };
}

function ruleOfEach(kinds: readonly string[], verbs: readonly string[], why: string): readonly ExplainedRule[] {
  const chosen = Object.entries(RELEASE_RESOURCES).filter(([kind]) => kinds.includes(kind));
  return chosen.map(([kind, resource]) => rule(groupOf(kind), [resource], verbs, why));
}

function apply(kinds: readonly string[], secrets: boolean): ReleaseRole {
  const why = "Compares, installs, changes and prunes. An admission policy narrows it to what a release has installed.";
  const writes = ruleOfEach(kinds, [...LOOKS, "create", "patch", "delete"], why).map((each) =>
    each.resources.includes("persistentvolumeclaims")
      ? {
          ...each,
          verbs: [...LOOKS, "create", "patch"],
          why: "As above, but a volume claim is never deleted: its data is yours.",
        }
      : each,
  );
  return {
    name: RELEASE_ROLE,
    holder: "rollout account",
    reach: "opened",
    about:
      "Installs and updates a release in one namespace. Lent to the account that plans, which a policy holds to dry runs, and after your approval to the one that carries the rollout out. With `releases.role` one of your own takes its place.",
    labels: { [TIER_LABEL]: "destructive" },
    rules: [
      ...writes,
      rule("", ["pods"], ["get", "list"], "Sees whether what was installed comes up."),
      rule("events.k8s.io", ["events"], ["list"], "Says why it does not."),
      ...(secrets ? [SECRETS] : []),
    ],
  };
}

/** Every role, with the bindings that are always there. */
export function releaseRbac(
  names: InstallationNames,
  kinds?: readonly string[],
  secrets?: boolean,
): readonly Manifest[] {
  return releaseRoles(names, kinds, secrets).flatMap((role) => manifestsOf(role, names));
}

/** One role: with its binding where it holds always, or as the customer opens namespaces. */
function manifestsOf(role: ReleaseRole, names: InstallationNames): readonly Manifest[] {
  const { name, labels, reach, holder } = role;
  const rules = role.rules.map(({ why: _why, ...each }) => each);
  if (reach === "opened") {
    return [{ apiVersion: API, kind: "ClusterRole", metadata: { name, ...(labels && { labels }) }, rules }];
  }
  const account = holder === "agent" ? names.agentAccount : names.operatorAccount;
  const kind = reach === "cluster" ? "ClusterRole" : "Role";
  const metadata = { name, ...(reach !== "cluster" && { namespace: names.grantsNamespace }) };
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

/** In an opened namespace: lets the operator lend the role of releases there, and notice drift. */
export function releaseTargetBindings(namespace: string, names: InstallationNames): readonly Manifest[] {
  return [TARGET, MEMBERS].map((role) => targetBinding(role, names.operatorAccount, namespace, names));
}

/**
 * The rights that agent or operator need for releases, from the rules of which the manifests are made.
 *
 * @param kinds what releases may install here; none: all
 */
export function releaseRights(
  who: "agent" | "operator",
  names: InstallationNames,
  opened: readonly string[],
  kinds: readonly string[] = [],
): readonly RequiredRight[] {
  const places = { grants: [names.grantsNamespace], opened, cluster: [] };
  const roles = releaseRoles(names, kinds.length > 0 ? kinds : undefined);
  const needed = roles.filter(({ holder }) => holder === who);
  return needed.flatMap(({ name: role, reach, rules }) =>
    places[reach].flatMap((namespace) =>
      rules.flatMap(({ apiGroups: [group = ""], resources, verbs, resourceNames = [undefined] }) => {
        const where = { group, namespace, role, reach: reach === "opened" ? reach : "grants" } as const;
        return resources.flatMap((resource) =>
          verbs.flatMap((verb) =>
            resourceNames.map((name) => ({ verb, resource, ...where, ...(name !== undefined && { name }) })),
          ),
        );
      }),
    ),
  );
}
