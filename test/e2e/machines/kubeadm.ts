import { soon } from "../cast.ts";
import { command } from "../command.ts";
import type { Scene } from "../scene.ts";
import type { Box } from "./box.ts";
import type { Customer } from "./customer.ts";

/** How long another machine of the same kind takes with `kubeadm join`, from its start until the node is Ready. */
export async function timeKubeadm(scene: Scene, customer: Customer, peer: Box): Promise<number> {
  const make = ["kubeadm", "token", "create", "--print-join-command"];
  const options = { env: scene.docker };
  const printed = await command("docker", ["exec", `${scene.cluster.name}-control-plane`, ...make], options, soon());
  try {
    const ready = customer.nodeReady(peer.name);
    const joined = peer.run(`${printed.trim()} --node-name ${peer.name} --ignore-preflight-errors=all`);
    const [tookMs] = await Promise.all([ready, joined]);
    return tookMs;
  } finally {
    await customer.admin("delete", "node", peer.name, "--ignore-not-found");
    await peer.remove();
  }
}
