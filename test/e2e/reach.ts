import { soon } from "./cast.ts";
import { kubectl } from "./kubectl.ts";
import type { Scene } from "./scene.ts";

/** Whether a connection from inside a pod of ours succeeds. Policies drop packets, so a refusal is a timeout. */
export async function reaches(
  scene: Scene,
  [namespace, workload]: readonly [namespace: string, workload: string],
  host: string,
  port: number,
): Promise<boolean> {
  const program = `const s = require("net").connect(${port}, ${JSON.stringify(host)});
    const end = (word) => { console.log(word); process.exit(0); };
    s.on("connect", () => end("connected")).on("error", () => end("refused")); setTimeout(() => end("silence"), 3000);`;
  const args = ["exec", "-n", namespace, `deployment/${workload}`, "--", "/app/node", "-e", program];
  return (await kubectl(scene, args, soon())).trim() === "connected";
}
