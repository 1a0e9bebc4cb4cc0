import { type InstallationNames, RELEASES_NAMESPACE } from "../../group.ts";
import type { Manifest } from "../../manifest.ts";
import { RELEASE_SALT_SECRET } from "../../release-secret.ts";
import type { RequiredRight } from "./required-rights.ts";
import { type ExplainedRule, rule } from "./shipped-role.ts";

const APIS = "rbac.authorization.k8s.io";
const API = `${APIS}/v1`;

/** A role that an installation has only where releases bring secret values. */
export interface ReleaseSecretRole {
  readonly name: string;
  readonly holder: "agent" | "operator";
  readonly reach: "releases" | "system";
  readonly about: string;
  readonly rules: readonly ExplainedRule[];
}

export function releaseSecretRoles({ agentAccount, operatorAccount }: InstallationNames): readonly ReleaseSecretRole[] {
  return [
    {
      name: `${agentAccount}-release-secrets`,
      holder: "agent",
      reach: "releases",
      about: "Leaves the secret values of a release's configuration.",
      rules: [
        rule(
          "",
          ["secrets"],
          ["create"],
          "Makes a Secret, and can neither read, change nor delete one. An admission policy narrows it to immutable ones named after their deployment.",
        ),
      ],
    },
    {
      name: `${agentAccount}-release-salt`,
      holder: "agent",
      reach: "system",
      about: "Makes the names of these Secrets unguessable.",
      rules: [
        {
          ...rule("", ["secrets"], ["get", "update"], "Fills this Secret once, and reads it. No other."),
          resourceNames: [RELEASE_SALT_SECRET],
        },
      ],
    },
    {
      name: `${operatorAccount}-release-secrets`,
      holder: "operator",
      reach: "releases",
      about: "Hands the secret values of a release over to the namespace that it is installed in.",
      rules: [
        rule(
          "",
          ["secrets"],
          ["get", "list", "delete"],
          "Reads the Secret that a rollout names, for its account to write, and deletes those that no content names. There are no Secrets of yours in that namespace.",
        ),
      ],
    },
  ];
}

/** The namespace, the Secret for the salt, and every role with its binding. */
export function releaseSecretRbac(names: InstallationNames): readonly Manifest[] {
  const { systemNamespace, releasesNamespace = RELEASES_NAMESPACE } = names;
  const salt = { name: RELEASE_SALT_SECRET, namespace: systemNamespace };
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: releasesNamespace } },
    { apiVersion: "v1", kind: "Secret", metadata: salt, type: "Opaque" },
    ...releaseSecretRoles(names).flatMap((role) => manifestsOf(role, names)),
  ];
}

function manifestsOf({ name, holder, reach, rules }: ReleaseSecretRole, names: InstallationNames): readonly Manifest[] {
  const { systemNamespace, agentAccount, operatorAccount } = names;
  const metadata = { name, namespace: placeOf(reach, names) };
  const account = holder === "agent" ? agentAccount : operatorAccount;
  return [
    { apiVersion: API, kind: "Role", metadata, rules: rules.map(({ why: _why, ...each }) => each) },
    {
      apiVersion: API,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: APIS, kind: "Role", name },
      subjects: [{ kind: "ServiceAccount", name: account, namespace: systemNamespace }],
    },
  ];
}

function placeOf(reach: ReleaseSecretRole["reach"], names: InstallationNames): string {
  const { systemNamespace, releasesNamespace = RELEASES_NAMESPACE } = names;
  return reach === "system" ? systemNamespace : releasesNamespace;
}

/** The rights that agent or operator need where releases bring secret values. */
export function releaseSecretRights(who: "agent" | "operator", names: InstallationNames): readonly RequiredRight[] {
  const roles = releaseSecretRoles(names).filter(({ holder }) => holder === who);
  return roles.flatMap(({ name: role, reach, rules }) =>
    rules.flatMap(({ resources, verbs, resourceNames = [undefined] }) =>
      resources.flatMap((resource) =>
        verbs.flatMap((verb) =>
          resourceNames.map((name) => ({
            ...{ verb, group: "", resource, namespace: placeOf(reach, names), role },
            reach: reach === "system" ? ("system" as const) : ("grants" as const),
            ...(name !== undefined && { name }),
          })),
        ),
      ),
    ),
  );
}
