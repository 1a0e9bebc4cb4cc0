import { copyFile, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Program } from "../../../lab/cluster/program.ts";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { type DebugSession, debugSessions } from "../../../src/crds/kinds/debug-session.ts";
import { WITH_DEBUG } from "../../world/installation.ts";
import { GRANTS } from "../../world/people.ts";
import { eventually, signal } from "../../world/wait.ts";
import { attachSession, type OpenSession, openSession, sallyport } from "./engineer.ts";
import { createTunnelWorld, type TunnelWorld } from "./tunnel-world.ts";
import { Typed } from "./typed.ts";

const cluster = useCluster({ holds: WITH_DEBUG });
let at: TunnelWorld;
let tunnel: Program;

beforeAll(async () => {
  at = await createTunnelWorld(cluster());
  tunnel = await at.startTunnel("tunnel-1");
}, 600_000);
afterAll(() => at?.close());

/** An exec on a terminal of that size, in a shell that waits for a line between its two words. */
function terminal({ kubeconfig }: OpenSession, word: string, size: string): Typed {
  const script = `echo ${word}-begins; read line; echo ${word}-goes-on; read line; echo ${word}-ends`;
  const kubectl = `${at.cluster.kubectlPath} --kubeconfig ${kubeconfig} exec -it api-0 -- sh -c "${script}"`;
  return new Typed("script", ["-qec", `stty ${size}; ${kubectl}`, "/dev/null"], {
    PATH: process.env.PATH,
    HOME: tmpdir(),
  });
}

const status = async ({ name }: OpenSession): Promise<DebugSession["status"]> =>
  (await at.world.admin.get<DebugSession>(debugSessions, { namespace: GRANTS, name }, signal()))?.status;

type Event = readonly [seconds: number, code: string, data: string];

it("two terminals at once, a shell without one and a tunnel that is killed are one recording, which says whose what is", async () => {
  const session = await openSession(at, { mode: "exec" });
  const [one, two] = [terminal(session, "one", "rows 30 cols 100"), terminal(session, "two", "rows 20 cols 60")];
  await Promise.all([one.says(/one-begins/), two.says(/two-begins/)]);
  one.child.stdin.write("\n");
  await one.says(/one-goes-on/);
  two.child.stdin.write("\n");
  await two.says(/two-goes-on/);
  one.child.stdin.write("\n");
  await one.ended;
  two.child.stdin.write("\n");
  await two.ended;
  const shell = session.start(["exec", "-i", "api-0", "--", "sh"]);
  shell.child.stdin.end("echo without-a-terminal; exit 3\n");
  expect(await shell.ended).toBe(3);
  // kubectl ends when it has the exit code, which may be before the tunnel has written it down.
  const spool = join(at.cluster.dir, "tunnel-1-spool", `${session.id}.recording.cast`);
  await eventually(
    () => readFile(spool, "utf8"),
    (text) => text.includes("ends with exit code 3"),
  );
  await tunnel.kill("SIGKILL");
  tunnel = await at.startTunnel("tunnel-1");
  expect(await session.cli.ended).toBe(6);
  const { key } = (await status(session))?.tunnel ?? {};
  const again = await attachSession(at, session, [`--accept-new-tunnel=${key}`]);
  const after = await eventually(
    () => again.kubectl(["exec", "api-0", "--", "echo", "after"]),
    ({ code }) => code === 0,
  );
  expect(after.stdout).toBe("after\n");
  await again.close();

  const file = join(session.folder, "session.cast");
  const fetched = await eventually(
    async () => {
      const typed = sallyport(at, session.folder, ["debug", "recording", session.id, "--to", file]);
      await typed.ended;
      return typed;
    },
    ({ code }) => code === 0,
  );
  expect(fetched.error).toContain("as the audit says");
  const kept = process.env.SALLYPORT_TEST_RECORDING;
  if (kept !== undefined) await copyFile(file, kept);
  const [header, ...events] = (await readFile(file, "utf8"))
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown) as [unknown, ...Event[]];
  expect(header).toMatchObject({ version: 2, title: session.id });
  const times = events.map(([seconds]) => seconds);
  expect(times).toEqual([...times].sort((a, b) => a - b));
  const shown = new Map<string, string>();
  const sizes = new Map<string, string>();
  let part = 0;
  let exec = "";
  for (const [, code, data] of events) {
    if (code === "m" && data.startsWith("the tunnel was started again")) part += 1;
    else if (code === "m") exec = `${part}.${/^exec (\d+) /.exec(data)?.[1]}`;
    else if (code === "r") sizes.set(exec, data);
    else if (code === "o") shown.set(exec, `${shown.get(exec) ?? ""}${data}`);
  }
  // In the order in which each showed something first.
  const outputs = [...shown.entries()];
  expect(outputs).toHaveLength(4);
  for (const [id, output] of outputs.slice(0, 2)) {
    const [word, other, size] = output.includes("one-begins") ? ["one", "two", "100x30"] : ["two", "one", "60x20"];
    expect(output).toMatch(new RegExp(`${word}-begins[^]*${word}-goes-on[^]*${word}-ends`));
    expect(output).not.toContain(other);
    expect(sizes.get(id)).toBe(size);
  }
  expect(outputs.slice(2).map(([, output]) => output)).toEqual(["without-a-terminal\n", "after\n"]);
  const marks = events.flatMap(([, code, data]) => (code === "m" ? [data] : []));
  expect(marks.filter((each) => each.endsWith("goes on")).length).toBeGreaterThanOrEqual(3);
  expect(marks.filter((each) => each.includes("ends with exit code 0"))).toHaveLength(3);
  expect(marks.filter((each) => each.includes("ends with exit code 3"))).toHaveLength(1);
});
