import { join } from "node:path";
import { FriendlyError } from "../../src/cli/kernel/command.ts";
import { DEFAULT_NAMES } from "../../src/crds/group.ts";
import { freePort } from "../cluster/ports.ts";
import type { Program } from "../cluster/program.ts";
import { Watchdog } from "../cluster/watchdog.ts";
import { productProcess } from "../product-process.ts";
import type { Target } from "./target.ts";
import type { Vendor } from "./vendor.ts";

/** Agent and operator finish what they are doing; well before the 10 s after which everything is killed. */
const CHILD_GRACE_MS = 5_000;

/** Starts each as its own process, whose environment holds its own credentials and no others. */
export async function startChildren(
  folder: string,
  vendor: Vendor,
  target: Target,
  stack: AsyncDisposableStack,
): Promise<readonly Program[]> {
  const watchdog = new Watchdog();
  const { systemNamespace, agentAccount, operatorAccount } = DEFAULT_NAMES;
  const never = new AbortController().signal;
  const make = async (
    kind: "agent" | "operator",
    account: string,
    own: Readonly<Record<string, string>>,
  ): Promise<Program> => {
    const kubeconfig = await target.serviceAccountKubeconfig(systemNamespace, account, never);
    const env = { SALLYPORT_KUBECONFIG: kubeconfig, ...own };
    return productProcess({ kind, logs: join(folder, "logs"), port: await freePort(), watchdog, env });
  };
  const children = [
    await make("agent", agentAccount, {
      SALLYPORT_PLATFORM_URL: vendor.url,
      SALLYPORT_RUNTIME_KEY_FILE: vendor.keyFiles.runtime,
      SALLYPORT_NAMESPACES: target.workloadNamespace,
      SALLYPORT_RELEASES_ENABLED: "true",
    }),
    await make("operator", operatorAccount, {
      SALLYPORT_RELEASES_ENABLED: "true",
      // The story decides seconds after it has installed the policies, in a cluster in which nobody forges a name.
      SALLYPORT_ADMISSION_SETTLE_TIME: "0s",
    }),
  ];
  stack.defer(async () => {
    await Promise.all(children.map((child) => child.stop(CHILD_GRACE_MS)));
    watchdog.done();
  });
  for (const child of children) child.spawn();
  return children;
}

/** Ends the run, with the reason, when one of its programs ends unexpectedly. */
export function reportEnd(program: Program, broken: AbortController, stack: AsyncDisposableStack): void {
  void program.whenExited().then(() => {
    if (stack.disposed) return;
    broken.abort(
      new FriendlyError(`${program.name} ended by itself; the end of ${program.logFile}:\n${program.logTail()}`),
    );
  });
}
