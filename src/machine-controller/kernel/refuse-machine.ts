import { REMOVED_LABEL } from "../../crds/group.ts";
import { type MachineJoin, machineJoins } from "../../crds/kinds/machine-join.ts";
import type { Client } from "../../kube/client/client.ts";

/** From now on admission refuses what the node of this join writes, with whatever certificate. The label stays. */
export async function refuseMachine(
  client: Pick<Client, "patch">,
  { metadata: { name, namespace } }: MachineJoin,
  signal: AbortSignal,
): Promise<void> {
  const body = { metadata: { labels: { [REMOVED_LABEL]: "true" } } };
  await client.patch(machineJoins, { name, namespace }, { type: "merge", body }, {}, signal);
}
