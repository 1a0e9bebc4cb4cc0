import type { DeploymentState, StackState } from "../../contract/deployments/deployment-state.ts";
import { objectName } from "../../crds/group.ts";
import type { Rollout, RolloutAction } from "../../crds/kinds/rollout.ts";
import { printableLine } from "../../crds/printable.ts";
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
  tellsWords: boolean,
): StackState | undefined {
  if (status?.resources === undefined) return undefined;
  const resources = status.resources.map(({ resourceId, state, message }): [string, Resource] => {
    const isFailed = state === "failed";
    const why = tellsWords ? printableLine(message, MAX_MESSAGE) : "";
    const { type = "unknown", lifecycle } = stack.resources.get(resourceId) ?? {};
    return [
      resourceId,
      {
        type,
        status: isFailed ? FAILED[action] : state,
        config: {},
        ...(lifecycle !== undefined && { lifecycle }),
        ...(isFailed && { error: stored("RESOURCE_FAILED", why || "it did not come up") }),
      },
    ];
  });
  return { platform: "kubernetes", resourcePrefix: objectName(deploymentId), resources: Object.fromEntries(resources) };
}
