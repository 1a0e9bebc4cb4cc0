import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../../lab/cluster/ports.ts";
import type { Program } from "../../../lab/cluster/program.ts";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { WITH_DEBUG } from "../../world/installation.ts";
import { eventually, signal } from "../../world/wait.ts";
import { type OpenSession, openSession } from "./engineer.ts";
import { createTunnelWorld, type TunnelWorld } from "./tunnel-world.ts";
import { Typed } from "./typed.ts";

const MEBI = 1024 * 1024;
const cluster = useCluster({ holds: WITH_DEBUG });
let at: TunnelWorld;
let tunnel: Program;

beforeAll(async () => {
  at = await createTunnelWorld(cluster());
  tunnel = await at.startTunnel("tunnel-1");
}, 600_000);
afterAll(() => at?.close());

/** kubectl's two ways to carry a stream. */
const TRANSPORTS = [
  ["WebSocket", {}],
  ["SPDY", { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: "false", KUBECTL_PORT_FORWARD_WEBSOCKETS: "false" }],
] as const;

const digest = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

/**
 * A command of the pod that goes on until `release`, when its output has been read. Once a command has ended, kubelet and
 * API server drop what is still on its way as soon as a ping comes from kubectl's side, 5 s after the one before; kubectl
 * exits 0 then (kubernetes#60140). That happens without a tunnel too, and to all output that is read slowly.
 */
function untilRead(command: string): { readonly args: readonly string[]; release(): void } {
  const name = `read-${randomBytes(8).toString("hex")}`;
  return {
    args: ["api-0", "--", "sh", "-c", `${command}; until [ -e ${name} ]; do sleep 0.2; done`],
    release: () => writeFileSync(join(at.pod.folder, name), ""),
  };
}

/** Until so much output has come, or kubectl has ended without it. */
const hasRead = (typed: Typed, length: number) =>
  eventually(
    () => Promise.resolve(typed.out.length),
    (read) => read >= length || typed.code !== undefined,
    240_000,
  );

describe("logs", () => {
  let session: OpenSession;
  beforeAll(async () => {
    session = await openSession(at, { mode: "logs" });
  });
  afterAll(() => session?.close());

  it("lists pods in the namespace of the session", async () => {
    const { code, stdout, stderr } = await session.kubectl(["get", "pods"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^api-0 +1\/1 +Running/m);
  });

  it("shows a log, and goes on with it", async () => {
    at.pod.log("line one");
    expect((await session.kubectl(["logs", "deploy/api"])).stdout).toContain("line one");
    const following = session.start(["logs", "-f", "api-0"]);
    await following.says(/line one/);
    at.pod.log("line two");
    await following.says(/line two/);
    following.child.kill();
  });

  it("watches", async () => {
    const watching = session.start(["get", "pods", "-w"]);
    await watching.says(/api-0/);
    await at.kubelet.pod("shop", "api-later", { app: "later" });
    await watching.says(/api-later/);
    watching.child.kill();
  });

  it.each([
    ["exec", ["exec", "api-0", "--", "true"], "exec"],
    ["Secrets", ["get", "secrets"], "secrets"],
    ["another namespace", ["get", "pods", "-n", "kube-system"], "shop"],
    ["all namespaces", ["get", "pods", "-A"], "shop"],
    ["to be another user", ["get", "pods", "--as=admin"], "--as"],
    ["a change", ["delete", "pod", "api-0"], "delete"],
    ["an attach", ["attach", "api-0"], "attach"],
    ["a proxy", ["get", "--raw", "/api/v1/namespaces/shop/pods/api-0/proxy"], "proxy"],
    // kubectl itself resolves both; a path with dots in it is refused as well (target.test.ts).
    ["a path around", ["get", "--raw", "/api/v1/namespaces/shop/../kube-system/pods"], "not for namespace kube-system"],
    [
      "an escaped path",
      ["get", "--raw", "/api/v1/namespaces/shop%2f..%2fkube-system/pods"],
      "not for namespace kube-system",
    ],
  ])("is refused %s, in words", async (_, args, words) => {
    const { code, stderr } = await session.kubectl(args);
    expect(code).toBe(1);
    expect(stderr).toContain("sallyport: ");
    expect(stderr.toLowerCase()).toContain(words);
  });
});

describe.each(TRANSPORTS)("exec over %s", (transport, env) => {
  let session: OpenSession;
  beforeAll(async () => {
    if (transport === "SPDY") {
      // What passes in it cannot be read, so an installation that requires recordings refuses it.
      await tunnel.stop(60_000);
      tunnel = await at.startTunnel("tunnel-2", { SALLYPORT_TUNNEL_RECORDING: "off" });
    }
    session = await openSession(at, { mode: "exec" });
  });
  afterAll(() => session?.close());

  const type = async (args: readonly string[], stdin: Buffer | string = "") => {
    const typed = session.start(args, env);
    typed.child.stdin.end(stdin);
    const code = await typed.ended;
    return { code, out: typed.out, error: typed.error };
  };

  it("has two outputs and an exit code", async () => {
    const { code, out, error } = await type(["exec", "deploy/api", "--", "sh", "-c", "echo out; echo err >&2; exit 7"]);
    expect([code, out]).toEqual([7, "out\n"]);
    expect(error).toContain("err\n");
  });

  it("takes 8 MiB in and gives them back", async () => {
    const bytes = randomBytes(8 * MEBI);
    const { out } = await type(["exec", "-i", "api-0", "--", "sha256sum"], bytes);
    expect(out).toContain(digest(bytes));
    const { args, release } = untilRead("base64 -w0");
    const back = session.start(["exec", "-i", ...args], env);
    back.child.stdin.end(bytes);
    await hasRead(back, 4 * Math.ceil(bytes.length / 3));
    release();
    expect(await back.ended).toBe(0);
    expect(digest(Buffer.from(back.out, "base64"))).toBe(digest(bytes));
  });

  it("copies a file both ways", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sallyport-cp-"));
    const bytes = randomBytes(4 * MEBI);
    writeFileSync(join(folder, "up"), bytes);
    expect(await type(["cp", join(folder, "up"), "api-0:copied"])).toMatchObject({ code: 0 });
    expect(digest(readFileSync(join(at.pod.folder, "copied")))).toBe(digest(bytes));
    // For what Kubernetes may drop at the end of tar's output, see untilRead.
    expect(await type(["cp", "--retries=10", "api-0:copied", join(folder, "down")])).toMatchObject({ code: 0 });
    expect(digest(readFileSync(join(folder, "down")))).toBe(digest(bytes));
  });

  it("is given a terminal, with its size and every change of it", async () => {
    const inPod = "echo pod $(tty); while :; do stty size; sleep 0.2; done";
    const kubectl = `${at.cluster.kubectlPath} --kubeconfig ${session.kubeconfig} exec -it api-0 -- sh -c '${inPod}'`;
    // `script` gives kubectl a terminal of its own.
    const line = `stty rows 31 cols 97; echo here $(tty); exec ${kubectl}`;
    const typed = new Typed("script", ["-qec", line, "/dev/null"], { PATH: process.env.PATH, HOME: tmpdir(), ...env });
    const [, terminal = ""] = await typed.says(/here (\/dev\/pts\/\d+)/);
    await typed.says(/pod \/dev\/pts\/\d+/);
    await typed.says(/^31 97\r?$/m);
    execFileSync("stty", ["-F", terminal, "rows", "40", "cols", "120"]);
    await typed.says(/^40 120\r?$/m);
    typed.child.kill();
    await typed.ended;
  });

  it("holds up no other request while eight outputs are not read, and loses nothing of them", async () => {
    const size = 16 * MEBI;
    writeFileSync(join(at.pod.folder, "large"), Buffer.alloc(size, "x"));
    const { args, release } = untilRead("cat large");
    const unread = Array.from({ length: 8 }, () => {
      const typed = session.start(["exec", ...args], env);
      typed.child.stdout.pause();
      return typed;
    });
    await eventually(
      () => Promise.resolve(unread.map(({ child }) => child.stdout.readableLength)),
      (waiting) => waiting.every((length) => length > 0),
    );
    expect((await session.kubectl(["get", "pods"])).stdout).toContain("api-0");
    expect(unread.map(({ code }) => code)).toEqual(unread.map(() => undefined));
    const [read, ...others] = unread;
    if (read === undefined) throw new Error("none was started");
    read.child.stdout.resume();
    await hasRead(read, size);
    for (const { child } of others) child.kill();
    await Promise.all(others.map(({ ended }) => ended));
    release();
    expect([await read.ended, read.out.length]).toEqual([0, size]);
  });
});

describe("where recordings are required", () => {
  it("refuses an exec over SPDY, and says what to do", async () => {
    await tunnel.stop(60_000);
    tunnel = await at.startTunnel("tunnel-3");
    const session = await openSession(at, { mode: "exec" });
    const typed = session.start(["exec", "api-0", "--", "true"], TRANSPORTS[1][1]);
    expect(await typed.ended).toBe(1);
    expect(typed.error).toContain("KUBECTL_REMOTE_COMMAND_WEBSOCKETS");
    await session.close();
  });
});

describe.each(TRANSPORTS)("port-forward over %s", (_, env) => {
  let session: OpenSession;
  let open = 0;
  let shut = 0;
  const servers = [0, 1].map(() => createServer((socket) => socket.pipe(socket)));
  beforeAll(async () => {
    [open, shut] = [await freePort(), await freePort()];
    for (const [index, port] of [open, shut].entries()) servers[index]?.listen(port, "127.0.0.1");
    session = await openSession(at, { mode: "port-forward", ports: [open] });
  });
  afterAll(async () => {
    await session?.close();
    for (const server of servers) server.close();
  });

  it("carries eight connections at once", async () => {
    const local = await freePort();
    const forwarding = session.start(["port-forward", "deploy/api", `${local}:${open}`], env);
    await forwarding.says(/Forwarding from 127/);
    const bytes = randomBytes(MEBI);
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        const socket = connect(local, "127.0.0.1");
        const parts: Buffer[] = [];
        socket.on("data", (part: Buffer) => parts.push(part));
        socket.end(bytes);
        await once(socket, "close", { signal: signal() });
        expect(digest(Buffer.concat(parts))).toBe(digest(bytes));
      }),
    );
    forwarding.child.kill();
  });

  it("is cut when it goes to another port than was asked for", async () => {
    const local = await freePort();
    const forwarding = session.start(["port-forward", "api-0", `${local}:${shut}`], env);
    await forwarding.says(/Forwarding from 127/);
    const socket = connect(local, "127.0.0.1");
    const heard: Buffer[] = [];
    socket.on("data", (part: Buffer) => heard.push(part));
    socket.on("error", () => undefined);
    socket.write("to nobody");
    await new Promise((closed) => socket.once("close", closed));
    expect(Buffer.concat(heard).toString()).toBe("");
    forwarding.child.kill();
  });
});
