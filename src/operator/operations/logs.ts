import { LOGS } from "../../crds/operations/logs.ts";
import { printable } from "../../crds/printable.ts";
import { resources } from "../../kube/objects/resource.ts";
import type { Pod } from "./objects.ts";
import { type OperationClient, OperationError, operation } from "./operation.ts";

/** Read from the node at most; a chatty line is cut there, not in our memory. */
const LIMIT_BYTES = 512 * 1024;
/** What fits a result beside its other fields, with every quote and line break counted twice. */
const LIMIT_CHARS = 30_000;

/** Which container `kubectl logs` takes when none is named. */
const DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container";

export const logs = operation(LOGS, {
  timeLimitMs: 30_000,
  async run({ client, params, redact }, signal) {
    const { namespace, pod: name, tailLines, sinceSeconds, previous } = params;
    const container = params.container ?? (await defaultContainer(client, namespace, name, signal));
    const raw = await client.podLogs(
      { namespace, name },
      {
        container,
        tailLines,
        previous,
        limitBytes: LIMIT_BYTES,
        ...(sinceSeconds !== undefined && { sinceSeconds }),
      },
      signal,
    );
    const clean = redact(printable(raw, raw.length));
    // The end of a log is what people want; a line cut in half in front of it would only confuse.
    const tail = clean.length <= LIMIT_CHARS ? clean : clean.slice(clean.indexOf("\n", clean.length - LIMIT_CHARS) + 1);
    return { namespace, pod: name, container, log: tail, cut: tail.length < clean.length };
  },
});

async function defaultContainer(
  client: OperationClient,
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<string> {
  const pod = await client.get<Pod>(resources.pods, { namespace, name }, signal);
  const container = pod?.metadata.annotations?.[DEFAULT_CONTAINER] ?? pod?.spec.containers[0]?.name;
  if (container === undefined) throw new OperationError(`there is no pod ${name} in ${namespace}`);
  return container;
}
