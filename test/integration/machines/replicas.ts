import { freePort } from "../../../lab/cluster/ports.ts";
import type { Program } from "../../../lab/cluster/program.ts";
import { Watchdog } from "../../../lab/cluster/watchdog.ts";
import { productProcess } from "../../../lab/product-process.ts";
import { DEFAULT_NAMES, MACHINES_ACCOUNT } from "../../../src/crds/group.ts";
import type { Client } from "../../../src/kube/client/client.ts";
import { type KubeObject, resources } from "../../../src/kube/objects/resource.ts";
import { eventually, signal } from "../../world/wait.ts";

const { systemNamespace: SYSTEM } = DEFAULT_NAMES;

interface Lease extends KubeObject {
  readonly spec: { readonly holderIdentity?: string };
}

/** Two machine controllers in processes of their own, as their Deployment keeps them: what ends is started again. */
export class Replicas {
  readonly #admin: Client;
  readonly #programs: readonly Program[];
  readonly #watchdog: Watchdog;
  readonly #kept: Promise<void>[] = [];
  #isOver = false;

  private constructor(admin: Client, programs: readonly Program[], watchdog: Watchdog) {
    this.#admin = admin;
    this.#programs = programs;
    this.#watchdog = watchdog;
  }

  /** @param logs a folder */
  static async start(
    admin: Client,
    logs: string,
    given: Readonly<Record<string, string>>,
    names: readonly string[] = ["first", "second"],
  ): Promise<Replicas> {
    const watchdog = new Watchdog();
    const programs: Program[] = [];
    for (const name of names) {
      const env = { ...given, SALLYPORT_IDENTITY: name };
      programs.push(productProcess({ kind: "machine-controller", name, logs, port: await freePort(), watchdog, env }));
    }
    const replicas = new Replicas(admin, programs, watchdog);
    for (const each of programs) {
      replicas.#kept.push(replicas.#keep(each));
      await each.whenReady(signal());
    }
    return replicas;
  }

  /** With SIGKILL, in the middle of what it does. */
  async killLeader(): Promise<void> {
    const key = { namespace: SYSTEM, name: MACHINES_ACCOUNT };
    const lease = await eventually(
      () => this.#admin.get<Lease>(resources.leases, key, signal()),
      (found) => holderOf(found) !== "",
    );
    const leader = this.#programs.find(({ name }) => name === holderOf(lease));
    if (leader === undefined) throw new Error(`the leader is ${holderOf(lease)}`);
    await leader.kill();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all([...this.#programs.map((each) => each.kill()), ...this.#kept]);
    this.#watchdog.done();
  }

  async #keep(program: Program): Promise<void> {
    while (!this.#isOver) {
      program.spawn();
      await program.whenExited();
    }
  }
}

function holderOf({ spec }: Lease): string {
  return spec.holderIdentity ?? "";
}
