import { CORDON_NODE } from "../../crds/operations/cordon-node.ts";
import { UNCORDON_NODE } from "../../crds/operations/uncordon-node.ts";
import { resources } from "../../kube/objects/resource.ts";
import type { ClusterNode } from "./objects.ts";
import { type OperationCall, OperationError, type OperationResult, operation } from "./operation.ts";

const TIME_LIMIT_MS = 30_000;

export const cordonNode = operation(CORDON_NODE, scheduling(true));
export const uncordonNode = operation(UNCORDON_NODE, scheduling(false));

type NodeCall = OperationCall<{ readonly name: string }>;

function scheduling(unschedulable: boolean) {
  return {
    timeLimitMs: TIME_LIMIT_MS,
    async run(call: NodeCall, signal: AbortSignal): Promise<OperationResult> {
      const node = await existing(call, signal);
      const { name, uid } = node.metadata;
      const changed = isCordoned(node) !== unschedulable;
      // By uid: a node that took the name since this look is another machine, and stays as it is.
      const body = { metadata: { uid }, spec: { unschedulable } };
      const write = () =>
        call.client.patch<ClusterNode>(resources.nodes, { name }, { type: "merge", body }, {}, signal);
      if (changed) await call.effect.send(write);
      return { name, unschedulable, changed };
    },
    async verify(call: NodeCall, done: OperationResult, signal: AbortSignal): Promise<OperationResult> {
      if (isCordoned(await existing(call, signal)) === unschedulable) return done;
      throw new OperationError(
        `something else has ${unschedulable ? "un" : ""}cordoned node ${call.params.name} since`,
      );
    },
  };
}

async function existing({ client, params: { name } }: NodeCall, signal: AbortSignal): Promise<ClusterNode> {
  const node = await client.get<ClusterNode>(resources.nodes, { name }, signal);
  if (node === undefined) throw new OperationError(`there is no node ${name}`);
  return node;
}

function isCordoned({ spec }: ClusterNode): boolean {
  return spec.unschedulable ?? false;
}
