import { operationRole, TIER_LABEL } from "../../crds/group.ts";
import { BUILT_IN, type CommandTable, commandTable } from "../../crds/operations/catalog.ts";
import { TIERS } from "../../crds/plan.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Client } from "../../kube/client/client.ts";
import { resources } from "../../kube/objects/resource.ts";

/**
 * The commands of this version, and `command` if it is a plugin's whose role this person may read: the chart writes the tier of
 * the install values on it. Else it counts as destructive, as in the operator.
 */
export async function commandsWith(
  client: Pick<Client, "get">,
  command: string,
  signal: AbortSignal,
): Promise<CommandTable> {
  if (BUILT_IN.isKnown(command)) return BUILT_IN;
  const [plugin = "", operation = ""] = command.split("/");
  try {
    const role = await client.get(resources.clusterRoles, { name: operationRole(plugin, operation) }, signal);
    const tier = TIERS.find((each) => each === role?.metadata.labels?.[TIER_LABEL]);
    return tier === undefined ? BUILT_IN : commandTable([{ command, tier }]);
  } catch (error) {
    // Many who approve may read no roles.
    if (error instanceof ApiError && error.isForbidden) return BUILT_IN;
    throw error;
  }
}
