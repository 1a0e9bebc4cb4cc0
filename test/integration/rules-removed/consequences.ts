import { expect } from "vitest";
import { sleep, systemClock } from "../../../src/base/clock.ts";
import type { Command } from "../../../src/contract/operations/commands.ts";
import { DEFAULT_NAMES, objectName } from "../../../src/crds/group.ts";
import type { AccessGrant } from "../../../src/crds/kinds/access-grant.ts";
import { managedDeployments } from "../../../src/crds/kinds/managed-deployment.ts";
import type { Client } from "../../../src/kube/client/client.ts";
import { type DynamicObject, resources } from "../../../src/kube/objects/resource.ts";
import { eventually, signal } from "../../world/wait.ts";
import type { Rule } from "./rule.ts";

/** What happens to a command that the customer lets run by itself, while the rule is missing. */
export type Fate = "runs" | "waits" | "fails";
/**
 * Where the missing rule is named. `Permitted` and `IdentityVerified` are conditions; a missing right to write events
 * has no event.
 */
export type Voice = "deployment" | "grant" | "identity" | "event";

/** By the role's holder, the rule's first resource and, where that is not enough, its first verb. */
export const EXPECTED: Readonly<Record<string, readonly [Fate, ...Voice[]]>> = {
  "agent accessgrants": ["waits", "deployment", "event"],
  "agent manageddeployments": ["runs", "event"],
  "agent manageddeployments/status": ["runs", "event"],
  "agent events": ["runs", "deployment"],
  "agent leases create": ["runs", "deployment", "event"],
  "agent leases get": ["waits", "event"],
  "agent deployments": ["runs", "deployment", "event"],
  "agent statefulsets": ["runs", "deployment", "event"],
  "agent daemonsets": ["runs", "deployment", "event"],
  "agent replicasets": ["runs", "deployment", "event"],
  "agent pods": ["runs", "deployment", "event"],
  "agent jobs": ["runs", "deployment", "event"],
  "agent cronjobs": ["runs", "deployment", "event"],
  "agent poddisruptionbudgets": ["runs", "deployment", "event"],
  "agent persistentvolumeclaims": ["runs", "deployment", "event"],
  "agent pods list": ["runs", "deployment", "event"],
  "agent events list": ["runs", "deployment", "event"],
  "operator accessgrants": ["waits", "event"],
  "operator accessgrants/status": ["waits", "event"],
  "operator manageddeployments/status": ["runs", "grant", "event"],
  "operator serviceaccounts": ["waits", "grant", "event"],
  "operator serviceaccounts/token": ["waits", "grant", "event"],
  "operator events": ["runs", "grant"],
  "operator leases create": ["runs", "event"],
  "operator leases get": ["waits", "event"],
  "operator validatingadmissionpolicies": ["runs", "identity"],
  "operator mutatingadmissionpolicies": ["runs", "identity"],
  "operator rolebindings": ["fails", "grant", "event"],
  "operator clusterroles": ["fails", "grant", "event"],
};

/** Time for two checks of the rights, and for a few tries of everything that is refused. */
export const WATCHED_MS = 3_000;

/** What a check reads: the same with our processes beside a test cluster and with our pods in one. */
export interface Witness {
  /** A client that may do everything. */
  readonly admin: Client;
  readonly deploymentId: string;
  /** Id of a request to scale, whose grant is pending during the whole test. */
  readonly pending: string;
  grant(requestId: string, until: (grant: AccessGrant) => boolean): Promise<AccessGrant>;
  command(id: string, until: (command: Command) => boolean): Promise<Command>;
}

/** The rule's key in {@link EXPECTED}. */
export function keyOf({ role, rule }: Rule): string {
  const [resource = ""] = rule.resources;
  const [verb = ""] = rule.verbs;
  return `${role.holder} ${resource}${resource === "leases" || verb === "list" ? ` ${verb}` : ""}`;
}

/**
 * @param instance for an event: the process that reports it; any when left out.
 * @throws Error when the rule is not named in time
 */
export async function told(
  voice: Voice,
  { role, rule }: Rule,
  { admin, deploymentId, pending, grant }: Witness,
  instance?: string,
): Promise<void> {
  const [plural = ""] = rule.resources;
  // Core pods have the same plural.
  const resource = rule.apiGroups.includes("metrics.k8s.io") ? `${plural}.metrics.k8s.io` : plural;
  // The rule lists many names; the plan of our grant needs this one.
  const named = resource === "clusterroles" ? "bind clusterroles/sallyport-op-kubernetes-scale" : resource;
  if (voice === "event") {
    // `serviceaccounts in shop`, `leases/name in shop`: excludes another resource whose name begins the same.
    const what = rule.resourceNames === undefined ? ` ${resource} in ` : ` ${resource}/`;
    await eventually(
      async () => (await events(admin)).filter((each) => [undefined, each.reportingInstance].includes(instance)),
      (found) =>
        found.some(({ note }) =>
          ["may not", what, role.name].every((words) => typeof note === "string" && note.includes(words)),
        ),
    );
    return;
  }
  if (voice === "deployment") {
    const key = { namespace: DEFAULT_NAMES.grantsNamespace, name: objectName(deploymentId) };
    const read = () => admin.get<DynamicObject>(managedDeployments, key, signal());
    await eventually(read, (managed) => conditionOf(managed, "Permitted", "RuleMissing").includes(named));
    return;
  }
  const [type, reason] = voice === "grant" ? ["Permitted", "RuleMissing"] : ["IdentityVerified", "NotEnforced"];
  await grant(pending, (read) => conditionOf(read, type, reason).includes(named));
}

export async function fateOf(fate: Fate, id: string, { command }: Witness): Promise<void> {
  if (fate === "runs") await command(id, ({ state }) => state === "SUCCEEDED");
  if (fate === "fails") {
    const { error } = await command(id, ({ state }) => state === "FAILED");
    expect(error?.message).toContain("forbidden");
  }
  if (fate === "waits") {
    await sleep(systemClock, WATCHED_MS, signal());
    const { state } = await command(id, () => true);
    expect(["PENDING", "DISPATCHED"]).toContain(state);
  }
}

/** Waits until no condition names a missing right. */
export async function healed({ admin, deploymentId, pending, grant }: Witness): Promise<void> {
  await grant(
    pending,
    (read) =>
      conditionOf(read, "Permitted", "RightsComplete") !== "" &&
      conditionOf(read, "IdentityVerified", "AwaitingDecision") !== "",
  );
  const key = { namespace: DEFAULT_NAMES.grantsNamespace, name: objectName(deploymentId) };
  const read = () => admin.get<DynamicObject>(managedDeployments, key, signal());
  await eventually(read, (managed) => conditionOf(managed, "Permitted", "RightsComplete") !== "");
}

/** The message of the condition if it has this reason. */
function conditionOf(object: object, type: string, reason: string): string {
  const { status } = object as {
    readonly status?: { readonly conditions?: readonly Readonly<Record<string, string>>[] };
  };
  const found = status?.conditions?.find((condition) => condition.type === type && condition.reason === reason);
  return found?.message ?? "";
}

async function events(admin: Client): Promise<readonly DynamicObject[]> {
  const all: DynamicObject[] = [];
  const options = { namespace: DEFAULT_NAMES.grantsNamespace };
  for await (const each of admin.list<DynamicObject>(resources.events, options, signal())) all.push(each);
  return all;
}
