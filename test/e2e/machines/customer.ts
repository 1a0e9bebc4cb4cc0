import { dirname } from "node:path";
import { expect } from "vitest";
import { type MachineDrain, machineDrains } from "../../../src/crds/kinds/machine-drain.ts";
import { type KubeObject, resources } from "../../../src/kube/objects/resource.ts";
import { pageCommands, runCommands } from "../../chart/page-commands.ts";
import { GRANTS } from "../../world/people.ts";
import { eventually } from "../../world/wait.ts";
import { type Cast, soon } from "../cast.ts";
import type { Answer } from "../command.ts";
import { kubectl, kubectlAs } from "../kubectl.ts";

export interface Node extends KubeObject {
  readonly spec: { readonly unschedulable?: boolean };
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly lastHeartbeatTime: string;
    }[];
  };
}

export const isReady = ({ status }: Node): boolean =>
  status?.conditions?.some((each) => each.type === "Ready" && each.status === "True") === true;

/** The customer's people, with the lines of docs/machines.md, and what they see. */
export class Customer {
  readonly #cast: Cast;

  constructor(cast: Cast) {
    this.#cast = cast;
  }

  /** kubectl as the customer's admin. */
  admin(...args: readonly string[]): Promise<string> {
    return kubectl(this.#cast.scene, args, soon());
  }

  /** The same; a failure is in the answer. */
  tries(...args: readonly string[]): Promise<Answer> {
    const { scene } = this.#cast;
    return kubectlAs(scene, scene.cluster.adminKubeconfig, args, soon());
  }

  /** Runs a line in a shell as the approver. */
  async approver(line: string): Promise<string> {
    const { cluster, folder, programs } = this.#cast.scene;
    const options = { folders: [dirname(programs.kubectl)], kubeconfig: cluster.approver, home: folder };
    const { code, stdout, stderr } = await runCommands(line, options);
    expect(code, `${line}\n${stderr}`).toBe(0);
    return stdout;
  }

  /** The page's lines about a MachineJoin of this name. */
  joinLines(name: string): readonly string[] {
    const [, lines = ""] = pageCommands("docs/machines.md", "For the customer");
    return lines.trim().replaceAll("workers-3f0c…", name).split("\n");
  }

  /** Undefined: there is none of this name. */
  node(name: string): Promise<Node | undefined> {
    return this.#cast.kube.get<Node>(resources.nodes, { name }, soon());
  }

  /** @returns how long it took, from the call on. */
  async nodeReady(name: string): Promise<number> {
    const startedAt = performance.now();
    await eventually(() => this.node(name), isReady);
    return performance.now() - startedAt;
  }

  async drain(name: string, until: (drain: MachineDrain) => boolean): Promise<MachineDrain> {
    const key = { namespace: GRANTS, name };
    return eventually(() => this.#cast.kube.get<MachineDrain>(machineDrains, key, soon()), until);
  }

  /** The drain of a node that the platform asked for, and that is not over. */
  async openDrain(node: string, until: (drain: MachineDrain) => boolean): Promise<MachineDrain> {
    const read = async (): Promise<MachineDrain | undefined> => {
      const all = await this.#cast.list<MachineDrain>(machineDrains, GRANTS);
      return all.find(({ spec, status }) => spec.nodeName === node && status?.state !== "Drained");
    };
    return eventually(read, until);
  }
}
