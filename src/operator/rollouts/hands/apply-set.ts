import { objectName } from "../../../crds/group.ts";
import { type ManagedDeployment, managedDeployments } from "../../../crds/kinds/managed-deployment.ts";
import type { ReleaseObject } from "../../../crds/kinds/release-content.ts";
import {
  APPLYSET_ID_LABEL,
  APPLYSET_KINDS,
  APPLYSET_NAMESPACES,
  APPLYSET_TOOLING,
  applySetId,
} from "../../../crds/release-names.ts";
import { kindAndGroup } from "../../../crds/released/release-kinds.ts";
import type { Client } from "../../../kube/client/client.ts";

export interface ApplySetPorts {
  /** The operator itself: no account of a rollout reaches our own kinds. */
  readonly client: Pick<Client, "get" | "patch">;
  readonly grantsNamespace: string;
  /** Of the operator. */
  readonly version: string;
  readonly fence: () => void;
}

type Marks = Readonly<Record<string, string>>;
interface ParentMarks {
  readonly labels: Marks;
  readonly annotations: Marks;
}

/**
 * Makes the ManagedDeployment the parent of a set that has these members, by KEP-3659: other tools that apply sets refuse to
 * touch it then, and find its members. Before the first of them is written: a member that the parent does not tell of is not
 * found. One that is not there has no rollout that runs.
 */
export async function coverMembers(
  { client, grantsNamespace, version, fence }: ApplySetPorts,
  deploymentId: string,
  members: readonly ReleaseObject[],
  signal: AbortSignal,
): Promise<void> {
  const key = { namespace: grantsNamespace, name: objectName(deploymentId) };
  const parent = await client.get<ManagedDeployment>(managedDeployments, key, signal);
  if (parent === undefined || parent.spec.deploymentId !== deploymentId) return;
  const { labels = {}, annotations = {}, uid } = parent.metadata;
  const marks = parentMarks(parent, grantsNamespace, members, version);
  if (hasAll(labels, marks.labels) && hasAll(annotations, marks.annotations)) return;
  fence();
  await client.patch(managedDeployments, key, { type: "merge", body: { metadata: { uid, ...marks } } }, {}, signal);
}

/** Kinds, as `Deployment.apps`, and namespaces of all that releases of a deployment have ever applied. */
export interface ApplySetMembers {
  readonly kinds: readonly string[];
  readonly namespaces: readonly string[];
}

export async function toldMembers(
  { client, grantsNamespace }: Pick<ApplySetPorts, "client" | "grantsNamespace">,
  deploymentId: string,
  signal: AbortSignal,
): Promise<ApplySetMembers> {
  const key = { namespace: grantsNamespace, name: objectName(deploymentId) };
  const parent = await client.get<ManagedDeployment>(managedDeployments, key, signal);
  const { annotations = {} } = parent?.spec.deploymentId === deploymentId ? parent.metadata : {};
  return { kinds: listIn(annotations[APPLYSET_KINDS]), namespaces: listIn(annotations[APPLYSET_NAMESPACES]) };
}

/**
 * Kinds and namespaces are only added: what an earlier release has left, such as a volume claim, stays a member. The
 * parent's own namespace is not named.
 */
export function parentMarks(
  { metadata }: Pick<ManagedDeployment, "metadata">,
  grantsNamespace: string,
  members: readonly ReleaseObject[],
  version: string,
): ParentMarks {
  const { name, annotations = {} } = metadata;
  const kinds = members.map(({ manifest }) => kindAndGroup(manifest));
  const namespaces = members.map(({ manifest }) => manifest.metadata.namespace ?? grantsNamespace);
  return {
    labels: { [APPLYSET_ID_LABEL]: applySetId(name, grantsNamespace) },
    annotations: {
      [APPLYSET_TOOLING]: `sallyport/${version}`,
      [APPLYSET_KINDS]: joined(annotations[APPLYSET_KINDS], kinds),
      [APPLYSET_NAMESPACES]: joined(
        annotations[APPLYSET_NAMESPACES],
        namespaces.filter((namespace) => namespace !== grantsNamespace),
      ),
    },
  };
}

function joined(told: string | undefined, more: readonly string[]): string {
  return [...new Set([...listIn(told), ...more])].sort().join(",");
}

function listIn(told: string | undefined): readonly string[] {
  return told === undefined || told === "" ? [] : told.split(",");
}

function hasAll(marks: Marks, wanted: Marks): boolean {
  return Object.entries(wanted).every(([name, value]) => marks[name] === value);
}
