import { createHash, randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { oldestKubectl } from "../../lab/cluster/kubectl.ts";
import { isFull } from "../../src/base/testing/full.ts";
import { resources } from "../../src/kube/objects/resource.ts";
import { SHOP, SYSTEM } from "../world/people.ts";
import { eventually } from "../world/wait.ts";
import { isReady, type Pod, soon, useCast } from "./cast.ts";
import { command } from "./command.ts";
import { Engineer, type Session } from "./debug-engineer.ts";
import { Hands } from "./debug-hands.ts";
import { PORT, removeApi, startApi } from "./debug-workload.ts";
import { helm, installSallyport, RELEASE, upgradeSallyport } from "./installation.ts";
import { kubectl } from "./kubectl.ts";
import { reaches } from "./reach.ts";
import { APPROVER } from "./scene.ts";

// Debug sessions as they are used: the chart's tunnel under PodSecurity `restricted` and NetworkPolicies, the engineer's
// own program and two versions of kubectl, real kubelets, and the customer with the lines of the pages.

const cast = useCast();
const VALUES = {
  debugSessions: { enabled: true, modes: { exec: true, "port-forward": true } },
  agent: { extraEnv: [{ name: "SALLYPORT_HEARTBEAT_INTERVAL", value: "1s" }] },
};

let engineer: Engineer;
let oldest = "";
let hands: Hands;
let pod = "";
let exec: Session;
let forward: Session;

const current = (): string => cast().scene.programs.kubectl;
const digest = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

beforeAll(async () => {
  const { scene } = cast();
  const signal = AbortSignal.timeout(600_000);
  const say = (line: string): boolean => process.stderr.write(`${line}\n`);
  const upgraded = upgradeSallyport(scene, VALUES, signal);
  [oldest] = await Promise.all([isFull ? oldestKubectl(say, signal) : "", upgraded, startApi(scene, signal)]);
  engineer = await Engineer.at(cast());
  const ports = ["--port", String(PORT)];
  [exec, forward] = await Promise.all([engineer.open("exec"), engineer.open("port-forward", ...ports)]);
  pod = (await cast().list<Pod>(resources.pods, SHOP, "app=api"))[0]?.metadata.name ?? "";
  hands = new Hands(cast(), pod);
}, 600_000);

afterAll(async () => {
  const { scene } = cast();
  for (const session of [exec, forward]) await session?.close();
  await removeApi(scene, soon());
  // What the uninstall in the last test could not remove; docs/upgrade.md says so.
  await hands?.admin("delete", "rolebindings,serviceaccounts", "-A", "-l", "sallyport.dev/debug-session");
  await helm(scene, ["uninstall", RELEASE, "--ignore-not-found", "--wait"], undefined, soon());
  await installSallyport(scene, {}, soon());
}, 300_000);

describe("the chart's tunnel", () => {
  test("is ready in a namespace that takes restricted pods only, and was started once", async () => {
    const pods = await cast().pods("tunnel");
    expect(pods.map(isReady)).toEqual([true]);
    expect(pods[0]?.status?.containerStatuses?.[0]?.restartCount).toBe(0);
  });

  test("reaches the platform and the API server, and no pod", async () => {
    const { scene } = cast();
    const { hostname, port } = new URL(scene.vendor.url);
    const [api] = await cast().list<Pod>(resources.pods, SHOP, "app=api");
    const there = api?.status?.podIP ?? "";
    const tunnel = [SYSTEM, "sallyport-tunnel"] as const;
    expect(await reaches(scene, tunnel, hostname, Number(port))).toBe(true);
    expect(await reaches(scene, tunnel, "10.96.0.1", 443)).toBe(true);
    expect(await reaches(scene, tunnel, there, PORT)).toBe(false);
    expect(await reaches(scene, [SHOP, "web"], there, PORT)).toBe(true);
  });

  test("is asked by helm test, too", async () => {
    const said = await helm(cast().scene, ["test", RELEASE, "--logs", "--timeout", "120s"], undefined, soon());
    expect(said).toMatch(/^ok +tunnel/m);
    expect(said).not.toMatch(/^FAIL/m);
  });
});

test("the customer compares both keys and sees who is inside, with the lines of approvers.md", async () => {
  await hands.object(exec, ({ status }) => status?.tunnel?.key !== undefined);
  const [request = "", tunnel = "", control = ""] = await hands.page(exec);
  const [, clientKey = "none"] = await exec.cli.says(/key, for the approver to compare.*: (\S{43})$/m);
  expect(await hands.approver(request)).toMatch(new RegExp(`^debug/exec .*"${clientKey}"`));
  const [, tunnelKey = "none"] = await exec.cli.says(/tunnel key: +(\S{43}),/);
  expect(await hands.approver(tunnel)).toBe(tunnelKey);
  const [inside = ""] = control.split("\n");
  const rows = (await hands.approver(inside)).split("\n");
  expect(rows[0]).toMatch(/^NAME +STATE +MODE +NAMESPACE +OWNER +UNTIL +AGE/);
  expect(rows.find((row) => row.startsWith(exec.name))).toMatch(/ Open +exec +shop +\S.* 20\S+Z +\d+[ms]/);
});

describe.each([["of this version", current], ...(isFull ? [["1.31", () => oldest] as const] : [])] as const)(
  "kubectl %s",
  (version, program) => {
    test("lists, and watches", async () => {
      expect((await exec.kubectl(program(), "get", "pods")).out).toMatch(new RegExp(`^${pod} +2/2 +Running`, "m"));
      const watching = exec.start(program(), "get", "pods", "-w", "-L", "seen");
      await watching.says(new RegExp(`^${pod} `, "m"));
      const word = `by-${randomBytes(4).toString("hex")}`;
      await hands.admin("label", "pod", "-n", SHOP, pod, "--overwrite", `seen=${word}`);
      await watching.says(new RegExp(`^${pod} .* ${word}$`, "m"));
      watching.child.kill();
    });

    test("follows a log while it is written", async () => {
      const following = exec.start(program(), "logs", "-f", "--tail=1", "deploy/api");
      const [, first = ""] = await following.says(/order (\d+) served/);
      await following.says(new RegExp(`order ${Number(first) + 2} served`));
      following.child.kill();
    });

    test("runs a command, with two outputs and its exit code", async () => {
      const line = "echo out; echo err >&2; exit 7";
      const said = await exec.kubectl(program(), "exec", "deploy/api", "--", "sh", "-c", line);
      expect([said.code, said.out]).toEqual([7, "out\n"]);
      expect(said.error).toContain("err\n");
      const other = await exec.kubectl(program(), "exec", pod, "-c", "api", "--", "/app/node", "-p", "6 * 7");
      expect([other.code, other.out]).toEqual([0, "42\n"]);
    });

    test("gives a terminal that has the window's size, also when that changes", async () => {
      const within = `const say = () => console.log(["size", process.stdout.columns, process.stdout.rows].join(" "));
      say(); process.stdout.on("resize", say);
      process.stdin.once("data", (line) => { console.log("typed", String(line).trim()); process.exit(5); });`;
      const terminal = await exec.inTerminal(
        ...[program(), "exec", "-it", "deploy/api", "-c", "api", "--", "/app/node", "-e", within],
      );
      const { typed, resize } = terminal;
      await typed.says(/size 80 24/);
      await resize(123, 41);
      await typed.says(/size 123 41/);
      typed.child.stdin.write(`hello ${version}\n`);
      await typed.says(new RegExp(`typed hello ${version}`));
      expect(await typed.ended).toBe(5);
    });

    test("copies a file both ways, each byte", async () => {
      const bytes = randomBytes(8 * 1024 * 1024);
      const [up, down] = [join(engineer.home, `up-${version}`), join(engineer.home, `down-${version}`)];
      await writeFile(up, bytes);
      expect(await exec.kubectl(program(), "cp", up, `${pod}:/tmp/copied`)).toMatchObject({ code: 0 });
      expect(await exec.kubectl(program(), "cp", `${pod}:/tmp/copied`, down)).toMatchObject({ code: 0 });
      expect(digest(await readFile(down))).toBe(digest(bytes));
    });

    test("forwards a port to a real process", async () => {
      const forwarding = forward.start(program(), "port-forward", "svc/api", ":80");
      const [, local = ""] = await forwarding.says(new RegExp(`127\\.0\\.0\\.1:(\\d+) -> ${PORT}`));
      const bytes = randomBytes(1024 * 1024);
      const ask = async (): Promise<void> => {
        const asking = { method: "POST", body: bytes, headers: { connection: "close" }, signal: soon() };
        const answer = await fetch(`http://127.0.0.1:${local}/`, asking);
        expect(answer.headers.get("x-pod")).toBe(pod);
        expect(digest(Buffer.from(await answer.arrayBuffer()))).toBe(digest(bytes));
      };
      await Promise.all([ask(), ask(), ask(), ask()]);
      forwarding.child.kill();
    });
  },
);

test("a right that is taken from the mode's role is a 403, and works again when it is given back", async () => {
  const role = "sallyport-op-debug-exec";
  const { rules } = JSON.parse(await hands.admin("get", "clusterrole", role, "-o", "json"));
  const less = rules.filter(({ resources: of }: { readonly resources: readonly string[] }) => !of.includes("pods/log"));
  const patch = (to: unknown): Promise<string> =>
    hands.admin("patch", "clusterrole", role, "--type=merge", "-p", JSON.stringify({ rules: to }));
  const logs = () => exec.kubectl(current(), "logs", "--tail=1", pod);
  await patch(less);
  try {
    const { error } = await eventually(logs, ({ code }) => code !== 0);
    expect(error).toMatch(/Forbidden.*pods\/log/s);
  } finally {
    await patch(rules);
  }
  await eventually(logs, ({ code, out }) => code === 0 && out.includes("served"));
});

test("the approver's word ends it; the record is in the customer's hands, and the vendor's copy is the same", async () => {
  const [, , control = ""] = await hands.page(exec);
  const [, end = ""] = control.split("\n");
  await hands.cut(exec, await hands.beating(exec), () => hands.approver(end));
  expect(await exec.cli.ended).toBe(8);
  const { spec, status } = await hands.closed(exec);
  expect([spec.endedReason, spec.endedBy, status?.closeReason]).toEqual(["enough", APPROVER, "revoked"]);
  const lent = ["get", "sa,rolebindings", "-A", "-l", "sallyport.dev/debug-session", "-o", "name"];
  expect(await hands.admin(...lent)).not.toContain(status?.account);
  const fetched = async (kind: "audit" | "recording"): Promise<string> => {
    const file = join(engineer.home, `${exec.id}.${kind}`);
    const fetching = () => engineer.run("debug", kind, exec.id, "--to", file);
    await eventually(fetching, ({ code }) => code === 0, 30_000);
    return file;
  };
  const head = status?.tunnel?.audit?.head ?? "";
  const verify = ["debug", "verify", await fetched("audit"), "--head", head];
  expect(await engineer.run(...verify)).toMatchObject({ code: 0 });
  expect(await readFile(await fetched("recording"), "utf8")).toContain("size 123 41");
  const last = createHash("sha256");
  const log = await hands.admin("logs", "-n", SYSTEM, "deploy/sallyport-tunnel", "--tail=-1");
  expect(log.split("\n").map((line) => last.copy().update(line).digest("hex"))).toContain(head);
});

describe("a tunnel that", () => {
  test("is killed comes back with another key, and the engineer goes on with the customer's word alone", async () => {
    const session = await engineer.open("exec");
    const beats = await hands.beating(session);
    await killTunnel();
    expect(await beats.ended).not.toBe(0);
    expect(await session.cli.ended).toBe(6);
    expect(session.cli.error).toContain(`sallyport debug attach ${session.id} --accept-new-tunnel=KEY`);
    const [, read = ""] = /^ +(kubectl get dbg .*)$/m.exec(session.cli.error) ?? [];
    const before = /tunnel key: +(\S{43}),/.exec(session.cli.error)?.[1];
    const key = await eventually(
      () => hands.approver(read),
      (told) => told !== before,
    );
    exec = await engineer.attach(session, `--accept-new-tunnel=${key}`);
    expect((await exec.kubectl(current(), "exec", pod, "--", "sh", "-c", "echo again")).out).toBe("again\n");
  });

  test("is scaled to nothing ends every session, and nothing comes back", async () => {
    const scale = (to: number) => ["scale", "deploy/sallyport-tunnel", "-n", SYSTEM, `--replicas=${to}`];
    await hands.cut(exec, await hands.beating(exec), () => hands.admin(...scale(0)));
    expect(await exec.cli.ended).toBe(8);
    for (const session of [exec, forward]) {
      expect((await hands.closed(session)).status?.closeReason).toBe("agent");
    }
    const again = await engineer.run("debug", "attach", exec.id, "--print-kubeconfig");
    expect(again.code, again.error).not.toBe(0);
    await hands.admin(...scale(1));
    await hands.admin("rollout", "status", "deploy/sallyport-tunnel", "-n", SYSTEM, "--timeout=60s");
    expect((await hands.closed(exec)).status?.state).toBe("Closed");
  });
});

// The last: there is no release afterwards.
test("an uninstall with a session open leaves no account, and no binding of any use", async () => {
  const { scene } = cast();
  exec = await engineer.open("exec");
  const beats = await hands.beating(exec);
  const { account = "" } = (await hands.object(exec, () => true)).status ?? {};
  const token = (await hands.admin("create", "token", account, "-n", "sallyport-debug")).trim();
  const asked = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token } };
  const isKnown = async (): Promise<boolean> => {
    const told = await kubectl(scene, ["create", "-f", "-", "-o", "json"], soon(), JSON.stringify(asked));
    return JSON.parse(told).status.authenticated === true;
  };
  expect(await isKnown()).toBe(true);
  await helm(scene, ["uninstall", RELEASE, "--wait", "--timeout", "60s"], undefined, soon());
  expect(await beats.ended).not.toBe(0);
  expect(await exec.cli.ended).toBe(8);
  await eventually(isKnown, (known) => !known, 30_000);
  const names = (await hands.admin("get", "namespaces,clusterroles", "-o", "name")).split("\n");
  expect(names).not.toContain("namespace/sallyport-debug");
  expect(names.filter((name) => name.includes("op-debug"))).toEqual([]);
});

/** Ends the tunnel's process as a crash does, without a signal that it could hear. */
async function killTunnel(): Promise<void> {
  const [pod] = await cast().pods("tunnel");
  const id = pod?.status?.containerStatuses?.[0]?.containerID?.replace("containerd://", "") ?? "";
  const kill = ["ctr", "--namespace", "k8s.io", "tasks", "kill", "--signal", "SIGKILL", id];
  await command("docker", ["exec", pod?.spec.nodeName ?? "", ...kill], { env: cast().scene.docker }, soon());
}
