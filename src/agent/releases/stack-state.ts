import type { DeploymentState, StackState } from "../../contract/deployments/deployment-state.ts";
import { objectName } from "../../crds/group.ts";
import type { Rollout, RolloutAction } from "../../crds/kinds/rollout.ts";
import { printableLine } from "../../crds/printable.ts";
import type { Member } from "./installed.ts";
import { stored } from "./rollout-progress.ts";

type Resource = StackState["resources"][string];

/** What a report needs of a stack: its configuration is not kept. */
export interface StackNames {
  readonly releaseId: string;
  readonly version: string | undefined;
  readonly resources: ReadonlyMap<string, Pick<Resource, "type" | "lifecycle">>;
}

const MAX_RESOURCES = 300;
const MAX_WORD = 128;
const MAX_MESSAGE = 512;
const FAILED = {
  install: "provision-failed",
  update: "update-failed",
  delete: "delete-failed",
  detach: "delete-failed",
} as const;

/** Of a release as an answer names it; undefined: it has no stack for this platform. */
export function stackNamesOf(release: DeploymentState["targetRelease"]): StackNames | undefined {
  const { releaseId, version, stack } = release ?? {};
  const resources = (stack as { resources?: unknown } | null | undefined)?.resources;
  if (typeof releaseId !== "string" || typeof resources !== "object" || resources === null) return undefined;
  const known = new Map<string, Pick<Resource, "type" | "lifecycle">>();
  for (const [id, resource] of Object.entries(resources).slice(0, MAX_RESOURCES)) {
    const { config, lifecycle } = (resource ?? {}) as { config?: { type?: unknown } | null; lifecycle?: unknown };
    const type = typeof config?.type === "string" ? config.type.slice(0, MAX_WORD) : "unknown";
    known.set(id, { type, ...((lifecycle === "frozen" || lifecycle === "live") && { lifecycle }) });
  }
  return { releaseId, version: version ?? undefined, resources: known };
}

/** How the resources of the stack are, as the rollout says; undefined: it says nothing yet. */
export function stackStateOf(
  deploymentId: string,
  action: RolloutAction,
  { status }: Rollout,
  stack: StackNames,
  members: readonly Member[],
  tellsWords: boolean,
): StackState | undefined {
  if (status?.resources === undefined) return undefined;
  const workloads = Map.groupBy(members, ({ resourceId }) => resourceId);
  const resources = status.resources.map(({ resourceId, state, message }): [string, Resource] => {
    const isFailed = state === "failed";
    const why = tellsWords ? printableLine(message, MAX_MESSAGE) : "";
    const { type = "unknown", lifecycle } = stack.resources.get(resourceId) ?? {};
    const outputs = outputsOf(workloads.get(resourceId) ?? []);
    return [
      resourceId,
      {
        type,
        status: isFailed ? FAILED[action] : state,
        config: {},
        ...(lifecycle !== undefined && { lifecycle }),
        ...(outputs !== undefined && { outputs }),
        ...(isFailed && { error: stored("RESOURCE_FAILED", why || "it did not come up") }),
      },
    ];
  });
  return { platform: "kubernetes", resourcePrefix: objectName(deploymentId), resources: Object.fromEntries(resources) };
}

/** Of the workloads of one resource together; undefined: none is seen. An image only where all have the same. */
function outputsOf(workloads: readonly Member[]): Resource["outputs"] {
  if (workloads.length === 0) return undefined;
  const sum = (of: (member: Member) => number | undefined): number =>
    workloads.reduce((all, member) => all + (of(member) ?? 0), 0);
  const images = new Set(workloads.flatMap(({ image }) => (image === undefined ? [] : [image])));
  const [image] = images;
  return {
    replicas: sum(({ replicas }) => replicas),
    ready: sum(({ ready }) => ready),
    ...(images.size === 1 && image !== undefined && { image }),
  };
}
