import { ours } from "../../world/objects.ts";
import { bound, GRANTS, SYSTEM } from "../../world/people.ts";
import { apply, kubectl } from "../kubectl.ts";
import { APPROVER, type Scene } from "../scene.ts";
import { MILL_LABELS } from "./mill.ts";

const NODE_PORT = 30_843;

/** The chart's values: machines reach join server and API server at the control plane's address. */
export function machineValues({ cluster }: Scene): object {
  const host = cluster.controlPlaneAddress;
  return {
    machines: { enabled: true },
    join: {
      url: `https://${host}:${NODE_PORT}`,
      apiServer: `https://${host}:6443`,
      service: { type: "NodePort", nodePort: NODE_PORT },
    },
    agent: { extraEnv: [{ name: "SALLYPORT_HEARTBEAT_INTERVAL", value: "1s" }] },
  };
}

/** The customer's own: a pool, and who may let machines in. */
export async function openFleet(scene: Scene, signal: AbortSignal): Promise<void> {
  await apply(
    scene,
    [
      ours("MachinePool", "workers", {
        ...{ deploymentId: scene.vendor.deploymentId, namePrefix: "m-", labels: MILL_LABELS },
      }),
      bound("machine-approvers", GRANTS, "sallyport-machine-approver", APPROVER, "Role"),
    ],
    signal,
  );
}

/** What the chart does not take with it when machines are switched off; docs/upgrade.md says so. */
export async function closeFleet(scene: Scene, signal: AbortSignal): Promise<void> {
  const remove = async (...args: readonly string[]): Promise<unknown> =>
    kubectl(scene, ["delete", "--ignore-not-found", ...args], signal);
  await remove("-n", GRANTS, "--all", "machinedrains,machinejoins,machinepools");
  await remove("-n", GRANTS, "rolebinding/machine-approvers", "configmap/sallyport-machine-loads-0");
  await remove("-n", SYSTEM, "secret/sallyport-join-tls", "lease/sallyport-machines");
}
