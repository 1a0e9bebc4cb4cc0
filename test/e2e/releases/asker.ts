import { SHOP } from "../../world/people.ts";
import { soon } from "../cast.ts";
import { RESTRICTED } from "../debug-workload.ts";
import { apply, kubectl } from "../kubectl.ts";
import type { Scene } from "../scene.ts";
import { FRONT, PORT, VISITORS } from "./app.ts";

const NAME = "asker";

/** Asks the Service all the time, by a connection of its own each time, and prints each answer that is new or bad. */
const PROGRAM = `const http = require("http");
let asked = 0, last = "";
const once = () => new Promise((done) => {
  const ended = (word) => { asked += 1; if (word !== last || word.startsWith("BAD")) console.log(last = word); done(); };
  const asking = http.get({ host: "${FRONT}.${SHOP}", port: ${PORT}, agent: false, timeout: 30_000 }, (answer) => {
    let text = "";
    answer.on("data", (each) => { text += each; });
    answer.on("end", () => ended(answer.statusCode === 200 ? "OK " + text : "BAD " + answer.statusCode + " " + text));
  });
  asking.on("timeout", () => asking.destroy(new Error("no answer")));
  asking.on("error", (error) => ended("BAD " + error.message));
});
setInterval(() => console.log("ASKED", asked), 500);
const forever = async () => { for (;;) { await once(); await new Promise((next) => setTimeout(next, 100)); } };
forever();
forever();
process.on("SIGTERM", () => process.exit(0));`;

export interface Heard {
  readonly asked: number;
  /** Each new answer, oldest first. */
  readonly answers: readonly string[];
  readonly failures: readonly string[];
}

/** A client inside of the cluster that never stops asking. */
export class Asker {
  readonly #scene: Scene;

  private constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Its pod is there; it begins to ask with {@link ask}. */
  static async stand(scene: Scene): Promise<Asker> {
    const labels = { "pod-security.kubernetes.io/enforce": "restricted" };
    await apply(scene, [{ apiVersion: "v1", kind: "Namespace", metadata: { name: VISITORS, labels } }], soon());
    await apply(scene, [deployment(scene)], soon());
    return new Asker(scene);
  }

  async ask(): Promise<void> {
    await kubectl(this.#scene, ["scale", "deployment", NAME, "-n", VISITORS, "--replicas=1"], soon());
    const args = ["rollout", "status", `deployment/${NAME}`, "-n", VISITORS, "--timeout=60s"];
    await kubectl(this.#scene, args, soon());
  }

  async heard(): Promise<Heard> {
    const text = await kubectl(this.#scene, ["logs", "-n", VISITORS, `deployment/${NAME}`, "--tail=-1"], soon());
    const lines = text.trim().split("\n");
    const after = (word: string): readonly string[] =>
      lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1));
    return { asked: Number(after("ASKED").at(-1) ?? 0), answers: after("OK"), failures: after("BAD") };
  }

  async leave(): Promise<void> {
    await kubectl(this.#scene, ["delete", "namespace", VISITORS, "--wait=false"], soon());
  }
}

function deployment({ image }: Scene) {
  const labels = { app: NAME };
  const containers = [
    { name: NAME, image: image.name, command: ["/app/node", "-e", PROGRAM], securityContext: RESTRICTED },
  ];
  const spec = { terminationGracePeriodSeconds: 1, containers };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: NAME, namespace: VISITORS },
    spec: { replicas: 0, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
}
