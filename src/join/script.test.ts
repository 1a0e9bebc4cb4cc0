import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { createPrivateKey, createPublicKey } from "node:crypto";
import { chmodSync, readFileSync, readlinkSync } from "node:fs";
import { createServer as createHttps, type Server } from "node:https";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { packageProblem } from "../../lab/debian-package.ts";
import { ApiError as PlatformError } from "../api-client/api-error.ts";
import { newSessionKey, type SessionKey } from "../debug-link/session-key.ts";
import { distinguishedName, issueCertificate } from "../debug-link/x509.ts";
import { curlPin } from "./joins/own-key.ts";
import { Box } from "./testing/box.ts";
import { JoinWorld, TOKEN } from "./testing/join-world.ts";
import { programProblems, SHELLS } from "./testing/shells.ts";

const SCRIPT = fileURLToPath(new URL("../../deploy/join/script.sh", import.meta.url));
const script = readFileSync(SCRIPT, "utf8");
const MINUTE = 60_000;

beforeAll(() => {
  expect(programProblems(packageProblem)).toEqual([]);
}, 300_000);

/** An API server that knows one node, which is Ready. */
async function nodeServer(key: SessionKey): Promise<{ server: Server; url: string; asked: string[] }> {
  const asked: string[] = [];
  const options = { cert: key.certificate, key: key.key, requestCert: true, rejectUnauthorized: false };
  const server = createHttps(options, (request, response) => {
    asked.push(request.url ?? "");
    response.end('{"status":{"conditions":[{"type":"Ready","status":"True"}]}}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return { server, asked, url: `https://127.0.0.1:${typeof address === "object" ? address?.port : 0}` };
}

let world: JoinWorld;
let box: Box;
let api: Awaited<ReturnType<typeof nodeServer>>;
const running = new Set<ChildProcess>();
beforeEach(async () => {
  world = await JoinWorld.start(undefined, { scripts: { script, "leave-script": "" } });
  box = new Box();
  const key = newSessionKey("kube-apiserver", new Date(), ["127.0.0.1"]);
  api = await nodeServer(key);
  world.ca = key.certificate;
  world.servesApiAt(api.url);
  box.write("join", world.joinString(), 0o600);
});
afterEach(async () => {
  for (const child of running) child.kill("SIGKILL");
  api.server.closeAllConnections();
  api.server.close();
  box.close();
  await world.close();
});

interface Ended {
  readonly code: number | null;
  readonly out: string;
}

function run(args: readonly string[], options: { shell?: readonly string[]; env?: object } = {}): Promise<Ended> {
  const [program = "sh", ...before] = options.shell ?? ["sh"];
  const env = {
    PATH: `${box.bin}:${process.env.PATH}`,
    SALLYPORT_JOIN_ROOT: box.root,
    SALLYPORT_JOIN_LONGEST_PAUSE: "0",
    SALLYPORT_JOIN_RETRY_SECONDS: "0",
    SALLYPORT_JOIN_READY_SECONDS: "5",
    ...options.env,
  };
  const child = spawn(program, [...before, SCRIPT, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve) =>
    child.on("close", (code) => {
      running.delete(child);
      resolve({ code, out: Buffer.concat(chunks).toString() });
    }),
  );
}
const joinNow = (...args: readonly string[]): Promise<Ended> => run(["--token-file", box.tokenFile, ...args]);

/** The customer lets it in, and the cluster signs the request that the machine made. */
async function letIn(): Promise<void> {
  await expect.poll(() => world.joins.size).toBe(1);
  await expect.poll(() => world.heads.at(-1)).toContain("?seen=Waiting");
  const [join] = world.joins.values();
  if (join === undefined) throw new Error("no join");
  world.report(join.metadata.name, { state: "Approved" }, { approved: true });
  world.report(join.metadata.name, { state: "Issued", certificate: certificateOf() });
}

/** By the machine's own key: what a signer would make of its request. */
function certificateOf(): string {
  const key = join(box.root, "var/lib/sallyport/machine/key.pem");
  const args = ["req", "-x509", "-new", "-key", key, "-subj", "/O=system:nodes/CN=system:node:m-1", "-days", "1"];
  return execFileSync("openssl", args, { stdio: ["ignore", "pipe", "ignore"] }).toString();
}

describe.each(SHELLS.map((shell) => [shell.join(" "), shell] as const))("under %s", (_, shell) => {
  test(
    "a machine joins, and its token is gone",
    async () => {
      world.setLabels({ "example.com/rack": "r1" });
      box.write("etc/kubernetes/kubelet.conf.d/10-own.conf", "");
      const ended = run(["--token-file", box.tokenFile], { shell });
      await letIn();
      expect(await ended).toMatchObject({ code: 0 });
      const { out } = await ended;
      expect(out).toContain("kubectl patch machinejoin workers-");
      expect(out).toContain(`the machine's key: ${world.redeemed[0]?.publicKey}`);
      expect(out).toContain("the node m-1 is Ready");
      expect(out).not.toContain(TOKEN);
      expect(box.has("join")).toBe(false);
      expect(box.read("etc/kubernetes/pki/ca.crt")).toBe(world.ca);
      expect(box.read("etc/kubernetes/kubelet.conf")).toContain(`server: "${api.url}"`);
      expect(JSON.parse(box.read("var/lib/kubelet/config.yaml"))).toMatchObject({ kind: "KubeletConfiguration" });
      const dropIn = box.read("etc/systemd/system/kubelet.service.d/10-sallyport.conf");
      const own = "--config-dir=/etc/kubernetes/kubelet.conf.d";
      expect(dropIn).toContain(
        `--hostname-override=m-1 --node-labels=example.com/rack=r1,sallyport.dev/machine=true ${own}`,
      );
      const pem = "var/lib/kubelet/pki/kubelet-client-current.pem";
      // The kubelet renews a certificate only where this is a link.
      expect(readlinkSync(join(box.root, pem))).toMatch(/^kubelet-client-\d{4}(-\d\d){5}\.pem$/);
      expect(box.mode(pem)).toBe(0o600);
      expect(box.mode("var/lib/sallyport/machine/key.pem")).toBe(0o600);
      const pin = curlPin({ cert: world.key.certificate, key: "" });
      expect(box.read("var/lib/sallyport/machine/server")).toBe(`${world.url} ${pin} m-1\n`);
      expect(box.read("systemctl.log").trimEnd().split("\n").slice(1)).toEqual([
        ...["daemon-reload", "enable kubelet.service", "restart kubelet.service"],
      ]);
      expect([...world.joins.values()][0]?.spec.facts).toMatchObject({
        ...{ os: "Debian GNU/Linux 12", kubelet: "1.36.3", runtime: "containerd v2.1.0", address: "192.0.2.9" },
      });
      expect(api.asked[0]).toBe("/api/v1/nodes/m-1?pretty=false");
    },
    MINUTE,
  );

  test(
    "a server with another key gets not one byte of a request",
    async () => {
      const pin = curlPin({ cert: newSessionKey("other", new Date()).certificate, key: "" });
      box.write("join", world.joinString({ pin }), 0o600);
      const { code, out } = await run(["--token-file", box.tokenFile], { shell });
      expect({ code, out }).toEqual({ code: 15, out: expect.stringContaining("another key") });
      expect(world.heads).toEqual([]);
      expect(box.has("join")).toBe(true);
    },
    MINUTE,
  );
});

describe("a machine that cannot join says why, and sends no token", () => {
  test.each<readonly [string, number, string, () => void]>([
    ["others may read the token", 11, "chmod 600", () => chmodSync(box.tokenFile, 0o644)],
    ["the group may read the token", 11, "chmod 600", () => chmodSync(box.tokenFile, 0o640)],
    ["there is no token file", 11, "not there", () => box.remove("join")],
    ["the file holds something else", 11, "no join string", () => box.write("join", "spj_abc", 0o600)],
    ["the join string is cut", 11, "damaged", () => box.write("join", world.joinString().slice(0, -20), 0o600)],
    [
      "the address is hostile",
      11,
      "damaged",
      () => box.write("join", world.joinString({ url: "https://a/$(id)" }), 0o600),
    ],
    ["the token has expired", 11, "expired", () => box.write("join", world.joinString({ exp: 1 }), 0o600)],
    ["it is not root", 12, "sudo", () => box.program("id", "echo 1000")],
    ["systemd does not run it", 12, "systemd", () => box.remove("run/systemd")],
    ["swap is on", 12, "swapoff", () => box.write("proc/swaps", "Filename\n/dev/sda2 partition 1 0 -2\n")],
    ["it forwards nothing", 12, "ip_forward=1", () => box.write("proc/sys/net/ipv4/ip_forward", "0\n")],
    ["there are no cgroups", 12, "cgroups", () => box.remove("sys/fs/cgroup/cgroup.controllers")],
    ["its disk is read-only", 12, "writable", () => box.write("var/lib/sallyport", "a file in its place")],
    ["port 10250 is taken", 12, "10250", () => box.write("proc/net/tcp", "  0: 00000000:280A 00000000:0000 0A 0\n")],
    ["containerd does not run", 13, "containerd", () => box.remove("run/containerd")],
    ["the kubelet is newer", 13, "not newer", () => box.program("kubelet", "echo Kubernetes v1.37.0")],
    ["the kubelet is too old", 13, "3 minor", () => box.program("kubelet", "echo Kubernetes v1.32.9")],
    ["the kubelet is broken", 13, "kubelet", () => box.program("kubelet", "exit 1")],
    ["it is another cluster's", 14, "--replace", () => box.write("etc/kubernetes/kubelet.conf", "apiVersion: v1\n")],
    [
      "nothing listens",
      15,
      "does not answer",
      () => box.write("join", world.joinString({ url: "https://127.0.0.1:9" }), 0o600),
    ],
    ["its clock is wrong", 16, "timedatectl", () => box.program("date", "echo 1000")],
  ])(
    "%s: %i, %s",
    async (_, code, words, spoil) => {
      spoil();
      expect(await joinNow()).toEqual({ code, out: expect.stringContaining(words) });
      expect(world.heads.filter((head) => head.includes("Join "))).toEqual([]);
    },
    MINUTE,
  );

  test.each([[["--token", TOKEN]], [[TOKEN]], [["--wait", "soon"]], [["--token-file"]], [["--node-name", "M_1"]]])(
    "wrong use %j: 10, and the argument is not repeated",
    async (args) => {
      const { code, out } = await run(args);
      expect(code).toBe(10);
      expect(out).not.toContain(TOKEN);
    },
    MINUTE,
  );

  test(
    "and with --dry-run one that could says so, and writes nothing",
    async () => {
      const { code, out } = await joinNow("--dry-run");
      expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining("can join") });
      expect(world.heads).toEqual(["GET /v1/hello "]);
      expect(box.has("var")).toBe(false);
      expect(box.has("join")).toBe(true);
    },
    MINUTE,
  );
});

describe("a machine that asks", () => {
  test.each([
    ["JOIN_TOKEN_REVOKED", 401, 17],
    ["JOIN_TOKEN_EXHAUSTED", 409, 17],
    ["INTERNAL", 500, 15],
  ])(
    "and hears %s ends with words",
    async (code, status, exit) => {
      world.refusal = new PlatformError(code, "the words of the platform", { status, retryable: false });
      expect((await joinNow()).code).toBe(exit);
      expect(box.has("join")).toBe(true);
    },
    MINUTE,
  );

  test(
    "and is refused by the customer says their words",
    async () => {
      const ended = joinNow();
      await expect.poll(() => world.joins.size).toBe(1);
      const [join] = world.joins.values();
      world.report(join?.metadata.name ?? "", { state: "Denied" }, { deniedReason: "not our box" });
      expect(await ended).toEqual({ code: 17, out: expect.stringContaining("not our box") });
      expect(box.has("var/lib/sallyport/machine/key.pem")).toBe(false);
    },
    MINUTE,
  );

  test(
    "and whose pool is deleted before it has its certificate says so, and joins with the same key when there is one again",
    async () => {
      const { pools } = world;
      const first = joinNow();
      await expect.poll(() => world.heads.at(-1)).toContain("?seen=Waiting");
      world.pools = [];
      await letIn();
      expect(await first).toEqual({ code: 17, out: expect.stringContaining("MachinePool workers was deleted") });
      expect(box.has("etc/kubernetes/kubelet.conf")).toBe(false);
      world.pools = pools;
      expect(await joinNow()).toMatchObject({ code: 0 });
      expect(world.redeemed).toHaveLength(1);
    },
    MINUTE,
  );

  test(
    "and starts anew after its token has expired goes on where it was",
    async () => {
      const first = joinNow("--wait", "0");
      expect(await first).toMatchObject({ code: 18 });
      expect(world.joins.size).toBe(1);
      box.write("join", world.joinString({ exp: 1 }), 0o600);
      const second = joinNow();
      await letIn();
      expect(await second).toMatchObject({ code: 0 });
      expect(world.redeemed).toHaveLength(1);
    },
    MINUTE,
  );

  test(
    "and has joined already keeps the certificate that it has renewed",
    async () => {
      const first = joinNow();
      await letIn();
      expect(await first).toMatchObject({ code: 0 });
      expect(box.read("etc/systemd/system/kubelet.service.d/10-sallyport.conf")).not.toContain("--config-dir");
      const before = box.read("var/lib/kubelet/pki/kubelet-client-current.pem");
      box.write("join", world.joinString({ exp: 1 }), 0o600);
      const heads = world.heads.length;
      expect(await joinNow()).toMatchObject({ code: 0 });
      expect(world.heads).toHaveLength(heads);
      expect(box.read("var/lib/kubelet/pki/kubelet-client-current.pem")).toBe(before);
    },
    MINUTE,
  );

  test(
    "and whose certificate has run out meanwhile is told so, and keeps the files that it has",
    async () => {
      const ended = joinNow();
      await expect.poll(() => world.joins.size).toBe(1);
      const [made] = world.joins.values();
      const key = createPrivateKey(box.read("var/lib/sallyport/machine/key.pem"));
      const subject = distinguishedName("system:node:m-1", ["system:nodes"]);
      const now = new Date(Date.now() - 365 * 86_400_000);
      const body = { subject, publicKey: createPublicKey(key), extensions: [], now };
      const certificate = issueCertificate({ subject, privateKey: key }, body);
      world.report(made?.metadata.name ?? "", { state: "Joined", certificate });
      expect(await ended).toEqual({ code: 17, out: expect.stringContaining("have the machine removed") });
      expect(box.has("etc/kubernetes/kubelet.conf")).toBe(false);
    },
    MINUTE,
  );

  test(
    "and whose node does not become Ready says where to look",
    async () => {
      const ended = run(["--token-file", box.tokenFile], { env: { SALLYPORT_JOIN_READY_SECONDS: "0" } });
      api.server.close();
      api.server.closeAllConnections();
      await letIn();
      expect(await ended).toEqual({ code: 19, out: expect.stringContaining("journalctl -u kubelet") });
      expect(box.has("join")).toBe(true);
    },
    MINUTE,
  );
});

test(
  "the token is never an argument of a program that the script starts",
  async () => {
    const curl = execFileSync("sh", ["-c", "command -v curl"]).toString().trim();
    box.program("curl", `echo "$@" >>${box.root}/curl.log; exec ${curl} "$@"`);
    const ended = joinNow();
    await letIn();
    expect(await ended).toMatchObject({ code: 0 });
    expect(box.read("curl.log")).toContain("/v1/join");
    expect(box.read("curl.log")).not.toContain(TOKEN);
    expect(world.heads.filter((head) => head.includes(TOKEN))).toHaveLength(1);
  },
  MINUTE,
);

test(
  "the script runs from a pipe, as the line that people paste has it",
  async () => {
    const env = {
      ...{ PATH: `${box.bin}:${process.env.PATH}`, SALLYPORT_JOIN_ROOT: box.root },
      ...{ SALLYPORT_JOIN_LONGEST_PAUSE: "0", SALLYPORT_JOIN_READY_SECONDS: "5" },
    };
    // Programs that read what they inherit would read the script.
    box.program("systemctl", "cat >/dev/null");
    const child = spawn("sh", ["-s", "--", "--token-file", box.tokenFile], {
      env,
      stdio: ["pipe", "ignore", "ignore"],
    });
    running.add(child);
    const ended = new Promise((resolve) => child.on("close", resolve));
    child.stdin?.end(script);
    await letIn();
    expect(await ended).toBe(0);
    expect(box.has("join")).toBe(false);
  },
  MINUTE,
);

test("half of the script does nothing", () => {
  const lines = script.split("\n");
  const half = lines.slice(0, Math.floor(lines.length * 0.9)).join("\n");
  box.write("half.sh", half);
  const env = { PATH: process.env.PATH, SALLYPORT_JOIN_ROOT: box.root };
  execFileSync("sh", ["-c", `sh ${box.root}/half.sh --token-file ${box.tokenFile} || true`], { env, stdio: "ignore" });
  expect(world.heads).toEqual([]);
  expect(box.has("var")).toBe(false);
});

test.each(["script.sh", "leave.sh"])(
  "shellcheck finds nothing in %s, which is short enough to be read first",
  (name) => {
    const file = join(SCRIPT, "..", name);
    const found = spawnSync("shellcheck", ["--shell=sh", "--severity=style", file], { encoding: "utf8" });
    expect({ found: found.stdout + found.stderr, code: found.status }).toEqual({ found: "", code: 0 });
    expect(readFileSync(file, "utf8").trimEnd().split("\n").length).toBeLessThanOrEqual(250);
  },
);
