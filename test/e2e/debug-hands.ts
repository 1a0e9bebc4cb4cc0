import { dirname } from "node:path";
import { expect } from "vitest";
import { type DebugSession, debugSessions } from "../../src/crds/kinds/debug-session.ts";
import { pageCommands, runCommands } from "../chart/page-commands.ts";
import type { Typed } from "../integration/debug/typed.ts";
import { GRANTS, SHOP } from "../world/people.ts";
import { eventually } from "../world/wait.ts";
import { type Cast, soon } from "./cast.ts";
import type { Session } from "./debug-engineer.ts";
import { kubectl } from "./kubectl.ts";

/** The most that may pass between a hand that ends a session and the last byte at the pod. */
const CUT_MS = 5_000;
/** Twenty lines of {@link Hands.beating} have not come. */
const SILENT_MS = 1_000;

/** What the customer's people see and do while a session is open. */
export class Hands {
  readonly #cast: Cast;
  /** The pod of the workload. */
  readonly pod: string;

  constructor(cast: Cast, pod: string) {
    this.#cast = cast;
    this.pod = pod;
  }

  /** kubectl as the customer's admin. */
  admin(...args: readonly string[]): Promise<string> {
    return kubectl(this.#cast.scene, args, soon());
  }

  object({ name }: Session, until: (session: DebugSession) => boolean): Promise<DebugSession> {
    const { kube } = this.#cast;
    return eventually(() => kube.get<DebugSession>(debugSessions, { namespace: GRANTS, name }, soon()), until);
  }

  closed(session: Session): Promise<DebugSession> {
    return this.object(session, ({ status }) => status?.state === "Closed");
  }

  /** The shell blocks of the approvers' page, for a session. */
  async page(session: Session): Promise<readonly string[]> {
    const { spec } = await this.object(session, () => true);
    const blocks = pageCommands("docs/approvers.md", "Debug sessions");
    return blocks.map((block) => block.replaceAll("dbg-…", session.name).replaceAll("ar-…", spec.grantName ?? ""));
  }

  /** Runs a line of the page in a shell, as the approver. */
  async approver(line: string): Promise<string> {
    const { cluster, folder, programs } = this.#cast.scene;
    const options = { folders: [dirname(programs.kubectl)], kubeconfig: cluster.approver, home: folder };
    const { code, stdout, stderr } = await runCommands(line, options);
    expect(code, `${line}\n${stderr}`).toBe(0);
    return stdout;
  }

  /** A stream that only a cut ends: a line each 50 ms from the engineer into a file of the pod. */
  async beating(session: Session): Promise<Typed> {
    // Not `cat`: the one of a node's Debian takes a pause of its input for the end, where it writes into a volume.
    const writing = `echo begins; while read -r line; do echo "$line"; done > /tmp/${session.name}`;
    const program = this.#cast.scene.programs.kubectl;
    const typed = session.start(program, "exec", "-i", this.pod, "--", "sh", "-c", writing);
    const beat = setInterval(() => typed.child.stdin.write(".\n"), 50);
    void typed.ended.finally(() => clearInterval(beat));
    await typed.says(/begins/);
    return typed;
  }

  /** Pulls, and expects kubectl to say that it was cut, and the pod to hear nothing more soon after. */
  async cut(session: Session, beats: Typed, pull: () => Promise<unknown>): Promise<void> {
    const pulledMs = Date.now();
    await pull();
    expect(await beats.ended, `${beats.out}\n${beats.error}`).not.toBe(0);
    const file = `/tmp/${session.name}`;
    const read = async (): Promise<number> =>
      Number(await this.admin("exec", "-n", SHOP, this.pod, "--", "stat", "-c", "%.3Y", file)) * 1_000;
    const lastMs = await eventually(read, (at) => Date.now() - at > SILENT_MS);
    const tookMs = Math.max(0, Math.round(lastMs - pulledMs));
    process.stderr.write(`  ${expect.getState().currentTestName}: last byte at the pod after ${tookMs} ms\n`);
    expect(tookMs).toBeLessThan(CUT_MS);
  }
}
