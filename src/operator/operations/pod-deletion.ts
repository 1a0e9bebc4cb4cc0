import { DELETE_POD } from "../../crds/operations/delete-pod.ts";
import { RESTART_POD } from "../../crds/operations/restart-pod.ts";
import { type OwnerReference, resources } from "../../kube/objects/resource.ts";
import type { Pod } from "./objects.ts";
import { type OperationCall, OperationError, type OperationResult, operation } from "./operation.ts";

const TIME_LIMIT_MS = 60_000;

/** Deletes a pod that something replaces; a pod of its own would be gone for good, and that is `delete-pod`. */
export const restartPod = operation(RESTART_POD, {
  timeLimitMs: TIME_LIMIT_MS,
  async run(call, signal) {
    const pod = await existingPod(call, signal);
    const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller);
    if (owner === undefined || !replacesPods(owner)) {
      throw new OperationError(`pod ${pod.metadata.name} has no controller that would replace it`);
    }
    return { ...(await deletePodExactly(call, pod, {}, signal)), replacedBy: `${owner.kind}/${owner.name}` };
  },
  verify: verifyGone,
});

export const deletePod = operation(DELETE_POD, {
  timeLimitMs: TIME_LIMIT_MS,
  async run(call, signal) {
    const { gracePeriodSeconds } = call.params;
    const options = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
    return deletePodExactly(call, await existingPod(call, signal), options, signal);
  },
  verify: verifyGone,
});

type PodCall = OperationCall<{ readonly namespace: string; readonly pod: string }>;

async function existingPod({ client, params: { namespace, pod: name } }: PodCall, signal: AbortSignal): Promise<Pod> {
  const pod = await client.get<Pod>(resources.pods, { namespace, name }, signal);
  if (pod === undefined) throw new OperationError(`there is no pod ${name} in ${namespace}`);
  return pod;
}

/** A static pod's mirror is "controlled" by its Node, which does not bring it back. */
function replacesPods({ kind }: OwnerReference): boolean {
  return kind !== "Node";
}

/** By uid: a new pod of the same name stays. */
async function deletePodExactly(
  { client, effect, params: { namespace } }: PodCall,
  { metadata: { name, uid } }: Pod,
  options: { readonly gracePeriodSeconds?: number },
  signal: AbortSignal,
): Promise<OperationResult> {
  const key = { namespace, name };
  const deleted = await effect.send(() =>
    client.delete(resources.pods, key, { ...options, preconditions: { uid } }, signal),
  );
  return { namespace, pod: name, uid, alreadyGone: !deleted };
}

/** Gone, going, or replaced by a pod of another uid. */
async function verifyGone(
  { client, params }: PodCall,
  done: OperationResult,
  signal: AbortSignal,
): Promise<OperationResult> {
  const key = { namespace: params.namespace, name: params.pod };
  const pod = await client.get<Pod>(resources.pods, key, signal);
  const same = pod !== undefined && pod.metadata.uid === done.uid;
  if (same && pod.metadata.deletionTimestamp === undefined) {
    throw new OperationError(`pod ${params.pod} is still there and not being deleted`);
  }
  return { ...done, terminating: same };
}
