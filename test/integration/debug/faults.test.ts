import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Program } from "../../../lab/cluster/program.ts";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { fullOnly } from "../../../src/base/testing/full.ts";
import { type DebugSession, debugSessions } from "../../../src/crds/kinds/debug-session.ts";
import { GRANTS } from "../../world/people.ts";
import { eventually, signal } from "../../world/wait.ts";
import { attachSession, beating, type OpenSession, openSession } from "./engineer.ts";
import { createTunnelWorld, type TunnelWorld } from "./tunnel-world.ts";

// What breaks under a session, and what is left of it: a loss is an error at kubectl, and the session goes on where it may.

const cluster = useCluster({ isOwn: true });
let at: TunnelWorld;
let first: Program;

/** An API server that restarts on a busy machine is away for longer than others' leases, and than a strict tunnel waits. */
const PATIENT = { SALLYPORT_LEASE_DURATION: "120s", SALLYPORT_RENEW_DEADLINE: "90s" };
const LENIENT = { SALLYPORT_TUNNEL_STRICT: "false" };

beforeAll(async () => {
  at = await createTunnelWorld(cluster(), { operator: PATIENT, agent: PATIENT });
  first = await at.startTunnel("tunnel-1", LENIENT);
});
afterAll(() => at?.close());

const status = async ({ name }: OpenSession): Promise<DebugSession["status"]> =>
  (await at.world.admin.get<DebugSession>(debugSessions, { namespace: GRANTS, name }, signal()))?.status;

/** kubectl again and again, as a person would. */
const worksAgain = (session: OpenSession) =>
  eventually(
    () => session.kubectl(["exec", "api-0", "--", "echo", "again"]),
    ({ stdout }) => stdout === "again\n",
  );

it("an engineer's program that is killed is followed by another one, in the same session", async () => {
  const session = await openSession(at, { mode: "exec" });
  const { typed } = await beating(at, session);
  session.cli.child.kill("SIGKILL");
  expect(await typed.ended).not.toBe(0);
  const again = await attachSession(at, session);
  expect(again.id).toBe(session.id);
  expect((await worksAgain(again)).code).toBe(0);
  await again.close();
  expect(
    (
      await eventually(
        () => status(again),
        (seen) => seen?.state === "Closed",
      )
    )?.closeReason,
  ).toBe("client");
});

fullOnly(
  "a tunnel that is killed is an error at kubectl; another one takes the session, and the killed one's file is put away as it is",
  async () => {
    const session = await openSession(at, { mode: "exec" });
    const { typed } = await beating(at, session);
    expect((await status(session))?.tunnel?.instance).toBe("tunnel-1");
    await first.kill("SIGKILL");
    expect(await typed.ended).not.toBe(0);
    const second = await at.startTunnel("tunnel-2", LENIENT);
    // Another tunnel has another key: the engineer's program goes on only when the customer has read it out.
    expect(await session.cli.ended).toBe(6);
    const seen = await eventually(
      () => status(session),
      (now) => now?.tunnel?.instance === "tunnel-2",
    );
    const again = await attachSession(at, session, [`--accept-new-tunnel=${seen?.tunnel?.key}`]);
    expect((await worksAgain(again)).code).toBe(0);
    await again.close();
    await eventually(
      () => status(session),
      (now) => now?.state === "Closed",
    );
    first = await at.startTunnel("tunnel-1", LENIENT);
    // The platform takes one file a session, the second tunnel's, which begins where the cluster's knowledge of this one
    // ends; a record written here now would be a second line after the same one. It stays, until room is needed.
    const file = join(at.cluster.dir, "tunnel-1-spool", `${session.id}.audit.jsonl.done`);
    const text = await eventually(
      () => readFile(file, "utf8").catch(() => undefined),
      (found) => found !== "",
    );
    expect(text.trim().split("\n").at(-1)).toContain('"type":"request"');
    expect(text.endsWith("\n")).toBe(true);
    await second.stop(60_000);
  },
);

fullOnly(
  "a rule that is taken from a mode's role is kubectl's 403 and a condition, and the same session goes on when it is given back",
  async () => {
    const session = await openSession(at, { mode: "exec" });
    const role = "sallyport-op-debug-exec";
    const kubectl = async (...args: readonly string[]): Promise<string> => {
      const { code, stdout, stderr } = await at.cluster.kubectl(args);
      expect(code, stderr).toBe(0);
      return stdout;
    };
    const before: readonly { readonly resources: readonly string[] }[] = JSON.parse(
      await kubectl("get", "clusterrole", role, "-o", "json"),
    ).rules;
    const rules = (each: unknown) =>
      kubectl("patch", "clusterrole", role, "--type=merge", "-p", JSON.stringify({ rules: each }));
    const access = async (reason: string): Promise<string> => {
      const found = await eventually(
        async () => (await status(session))?.conditions?.find(({ type }) => type === "AccessReady"),
        (condition) => condition.reason === reason,
      );
      return `${found.status} ${found.message}`;
    };
    await rules(before.filter(({ resources }) => !resources.includes("pods/exec")));
    const refused = await eventually(
      () => session.kubectl(["exec", "api-0", "--", "true"]),
      ({ code }) => code !== 0,
    );
    expect(refused.stderr).toContain("orbidden");
    expect((await session.kubectl(["get", "pods"])).stdout).toContain("api-0");
    expect(await access("RuleMissing")).toMatch(
      /^False the API server refuses (get|create) pods\/exec to account debug-/,
    );
    await rules(before);
    expect((await worksAgain(session)).code).toBe(0);
    expect(await access("Ready")).toMatch(/^True /);
    expect((await status(session))?.state).toBe("Open");
    await session.close();
  },
);

it("two tunnels serve a session once", async () => {
  const second = await at.startTunnel("tunnel-3", LENIENT);
  const sessions = await Promise.all([1, 2, 3].map(() => openSession(at, { mode: "logs" })));
  for (const session of sessions) {
    const { instance } = (await status(session))?.tunnel ?? {};
    expect(["tunnel-1", "tunnel-3"]).toContain(instance);
    expect((await session.kubectl(["get", "pods"])).stdout).toContain("api-0");
    expect((await status(session))?.tunnel?.instance).toBe(instance);
    await session.close();
  }
  await second.stop(60_000);
});

it("an API server that restarts cuts streams, and not the session", async () => {
  const session = await openSession(at, { mode: "exec" });
  const { typed } = await beating(at, session);
  const { apiserver } = at.cluster.programs;
  await apiserver.kill();
  expect(await typed.ended).not.toBe(0);
  await apiserver.start(signal());
  expect((await worksAgain(session)).code).toBe(0);
  await session.close();
});
