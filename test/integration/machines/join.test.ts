import { execFileSync, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect as connectTcp, createServer as createTcp, type Socket } from "node:net";
import { join as path } from "node:path";
import { pipeline } from "node:stream";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { sentFields } from "../../../scripts/generate/egress/egress.ts";
import { HEADER_WORDS } from "../../../scripts/generate/egress/egress-words.ts";
import { readJoinString } from "../../../src/contract/machines/join-string.ts";
import { type MachineJoin, machineJoins } from "../../../src/crds/kinds/machine-join.ts";
import { type MachinePool, machinePools } from "../../../src/crds/kinds/machine-pool.ts";
import { openMachines } from "../../../src/crds/manifests/installation.ts";
import { MACHINE_APPROVER } from "../../../src/crds/manifests/roles/machine-roles.ts";
import { JOIN_ROUTES } from "../../../src/join/kernel/routes.ts";
import { Box } from "../../../src/join/testing/box.ts";
import { machineRequest } from "../../../src/join/testing/join-world.ts";
import { WITH_MACHINES } from "../../world/installation.ts";
import { ours } from "../../world/objects.ts";
import { APPROVER, bound, GRANTS } from "../../world/people.ts";
import { eventually, signal } from "../../world/wait.ts";
import { type AgentWorld, createAgentWorld } from "../agent/agent-world.ts";
import { CapturedFields } from "../egress/captured.ts";
import {
  type AskOptions,
  JoinServers,
  joinStringOf,
  machineAsks,
  NODES_BINDING,
  offerMachines,
  type Reply,
} from "./join-servers.ts";

// Real: platform, API server with its signer, join servers in processes of their own, the script, curl. By hand: what the
// machine controller does with a join, and the kubelet.

const cluster = useCluster({ controllers: true, holds: WITH_MACHINES });
const SCRIPT = path(import.meta.dirname, "../../../deploy/join/script.sh");

let world: AgentWorld;
let servers: JoinServers;
let ports: readonly number[] = [];
let joinString = "";
const boxes: Box[] = [];
const captured = new CapturedFields(JOIN_ROUTES);

beforeAll(async () => {
  world = await createAgentWorld(cluster(), { more: openMachines() });
  await cluster().apply([
    bound("join", GRANTS, MACHINE_APPROVER, APPROVER, "Role"),
    NODES_BINDING,
    ours("MachinePool", "workers", {
      ...{ deploymentId: world.deploymentId, apiServer: cluster().server, labels: { "example.com/rack": "r1" } },
    }),
  ]);
  await offerMachines(world, world.deploymentId);
  world.gate.onHeard = captured.add;
  servers = await JoinServers.start(world);
  ports = servers.ports;
  joinString = await joinStringOf(world);
}, 300_000);

afterAll(async () => {
  await servers?.stop();
  for (const box of boxes) box.close();
  await world?.close();
});

function ask(method: string, url: string, options: AskOptions = {}): Promise<Reply> {
  return servers.ask(method, url, { token: readJoinString(joinString)?.token ?? "", ...options });
}
async function joins(): Promise<MachineJoin[]> {
  const found: MachineJoin[] = [];
  for await (const each of world.admin.list<MachineJoin>(machineJoins, { namespace: GRANTS }, signal()))
    found.push(each);
  return found;
}
const joinOf = async (node: string) => (await joins()).find(({ spec }) => spec.nodeName === node);
const tokens = async () =>
  (await world.engineer.machines.listTokens({ params: { id: world.deploymentId } }, signal())).tokens;
const admin = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await cluster().kubectl(args);
  if (code !== 0) throw new Error(stderr);
  return stdout;
};
const status = (name: string, body: object) =>
  world.admin.patch(
    machineJoins,
    { namespace: GRANTS, name },
    { type: "merge", body: { status: body } },
    { subresource: "status" },
    signal(),
  );

/** Of a second deployment of the same customer, whose machines join elsewhere. */
async function tokenOfAnother(): Promise<string> {
  const { vendorAdmin, managerId, projectId: project, deploymentId } = world;
  const { deploymentGroupId } = await vendorAdmin.deployments.get({ params: { id: deploymentId } }, signal());
  const body = { name: "other", platform: "kubernetes" as const, project, deploymentGroupId, managerId };
  const { deployment } = await vendorAdmin.deployments.create({ body }, signal());
  await offerMachines(world, deployment.id, "https://elsewhere.example");
  const made = await world.engineer.machines.createToken({ params: { id: deployment.id }, body: {} }, signal());
  return made.joinToken;
}

/** As the machine controller does: a request with the machine's own bytes, approved, signed by the cluster. */
async function sign({ metadata: { name }, spec }: MachineJoin): Promise<void> {
  const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${spec.request.replace(/(.{64})/g, "$1\n")}\n-----END CERTIFICATE REQUEST-----\n`;
  await cluster().apply([
    {
      ...{ apiVersion: "certificates.k8s.io/v1", kind: "CertificateSigningRequest", metadata: { name: `sp-${name}` } },
      spec: {
        request: Buffer.from(pem).toString("base64"),
        signerName: "kubernetes.io/kube-apiserver-client-kubelet",
        usages: ["digital signature", "client auth"],
      },
    },
  ]);
  await admin("certificate", "approve", `sp-${name}`);
  const issued = await eventually(
    () => admin("get", "csr", `sp-${name}`, "-o", "jsonpath={.status.certificate}"),
    (text) => text !== "",
  );
  const certificate = Buffer.from(issued, "base64").toString();
  for (const state of ["Approved", "Signing"]) await status(name, { state });
  await status(name, { state: "Issued", certificate });
}

const approver = () => ({ kubeconfig: cluster().kubeconfigFor({ user: APPROVER }) });
const approval = ({ metadata: { name } }: MachineJoin) => [
  ...["machinejoin", name, "-n", GRANTS, "--type=merge", "-p", '{"spec":{"approved":true}}'],
];

/** As a Service does: each connection goes to the first replica that takes it. */
class Service {
  /** Ports that took a connection. */
  readonly asked = new Set<number>();
  readonly #ports: readonly number[];
  readonly #server = createTcp((from) => this.#pass(from, [...this.#ports]));
  readonly #sockets = new Set<Socket>();

  constructor(to: readonly number[]) {
    this.#ports = to;
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the service does not listen");
    return address.port;
  }

  /** Connections under way. */
  live(): number {
    return this.#sockets.size;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #pass(from: Socket, [port, ...others]: readonly number[]): void {
    if (port === undefined) return void from.destroy();
    const to = connectTcp(port, "127.0.0.1");
    const onRefused = (): void => this.#pass(from, others);
    to.once("error", onRefused).once("connect", () => {
      to.off("error", onRefused);
      this.asked.add(port);
      this.#sockets.add(from);
      from.once("close", () => this.#sockets.delete(from));
      pipeline(from, to, () => undefined);
      pipeline(to, from, () => undefined);
    });
  }
}

/** The join string of the test, with another port in its address. */
function joinStringTo(port: number): string {
  const fields = JSON.parse(Buffer.from(joinString.slice("spj1_".length), "base64url").toString());
  return `spj1_${Buffer.from(JSON.stringify({ ...fields, url: `https://127.0.0.1:${port}` })).toString("base64url")}`;
}

/** The machine's own script, until it ends. */
function runScript(node: string, text = joinString) {
  const box = new Box();
  boxes.push(box);
  box.write("join", text, 0o600);
  const env = {
    PATH: `${box.bin}:${process.env.PATH}`,
    SALLYPORT_JOIN_ROOT: box.root,
    SALLYPORT_JOIN_LONGEST_PAUSE: "1",
  };
  const child = spawn("sh", [SCRIPT, "--token-file", box.tokenFile, "--node-name", node], { env });
  const out: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => out.push(chunk));
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  return { box, ended, said: () => Buffer.concat(out).toString() };
}

/** The kubelet. */
async function registers(node: string): Promise<void> {
  await cluster().apply([{ apiVersion: "v1", kind: "Node", metadata: { name: node } }]);
  const conditions = [{ type: "Ready", status: "True", reason: "KubeletReady", message: "" }];
  await admin("patch", "node", node, "--subresource=status", "-p", JSON.stringify({ status: { conditions } }));
}

test("both replicas have one key, which the pool says and the platform's join string names", async () => {
  const pool = await eventually(
    () => world.admin.get<MachinePool>(machinePools, { namespace: GRANTS, name: "workers" }, signal()),
    ({ status: said }) => said?.joinServer !== undefined,
  );
  const fields = readJoinString(joinString);
  expect(pool.status?.joinServer).toMatchObject({ url: `https://127.0.0.1:${ports[0]}`, pins: [fields?.pin] });
  for (const port of ports) {
    const args = ["-sS", "-k", "--pinnedpubkey", fields?.pin ?? "", `https://127.0.0.1:${port}/v1/script`];
    expect(execFileSync("curl", args).toString()).toBe(readFileSync(SCRIPT, "utf8"));
  }
});

test("a machine joins with the script when a person lets it in, and its node is Ready", async () => {
  const { box, ended, said } = runScript("m-1");
  const join = await eventually(
    () => joinOf("m-1"),
    () => true,
  );
  expect(await cluster().kubectl(["patch", ...approval(join)], approver())).toMatchObject({ code: 0 });
  expect((await joinOf("m-1"))?.spec).toMatchObject({ approvedBy: APPROVER, facts: { kubelet: "1.36.3" } });
  await sign(join);
  await registers("m-1");
  expect([await ended, said()]).toEqual([0, expect.stringContaining("the node m-1 is Ready")]);
  expect(said()).toContain(`kubectl patch machinejoin ${join.metadata.name} `);
  expect(box.read("etc/kubernetes/kubelet.conf")).toContain(cluster().server);
  expect(box.has("join")).toBe(false);
});

describe("an attacker", () => {
  test("with the token of a deployment without a pool gets no join", async () => {
    const token = await tokenOfAnother();
    const before = (await joins()).length;
    const { status, body } = await ask("POST", "/v1/join", { body: machineAsks("m-2"), token });
    expect({ status, code: body.code }).toEqual({ status: 503, code: "NO_POOL" });
    expect(await joins()).toHaveLength(before);
  });

  test("who replays a join gets the same one, which is for the machine's key; and with another key no name of it", async () => {
    const body = machineAsks("m-3");
    const [first, again] = [await ask("POST", "/v1/join", { body }), await ask("POST", "/v1/join", { body, at: 1 })];
    expect([first.status, again.status, again.body.uid]).toEqual([202, 202, first.body.uid]);
    expect(await ask("POST", "/v1/join", { body: machineAsks("m-3") })).toMatchObject({
      status: 409,
      body: { code: "MACHINE_ID_TAKEN" },
    });
    expect((await joins()).filter(({ spec }) => spec.nodeName === "m-3")).toHaveLength(1);
  });

  test("who asks for a control plane's name, or brings another's request, costs the token nothing", async () => {
    const used = (await tokens())[0]?.joinCount;
    const requests = [
      machineAsks("control-plane-1"),
      machineAsks("m-4", machineRequest("m-5").request),
      "{}",
      "x".repeat(20_000),
    ];
    const answers = await Promise.all(requests.map((body) => ask("POST", "/v1/join", { body })));
    expect(answers.map(({ status }) => status)).toEqual([409, 400, 400, 413]);
    expect((await tokens())[0]?.joinCount).toBe(used);
  });

  test("who floods, and holds connections open, does not keep a machine from joining at the other replica", async () => {
    const held = Array.from({ length: 50 }, () =>
      connectTls({ port: ports[0] ?? 0, host: "127.0.0.1", rejectUnauthorized: false }),
    );
    for (const socket of held) socket.on("error", () => undefined).write("POST /v1/join HTTP/1.1\r\n");
    const answers = await Promise.all(Array.from({ length: 60 }, () => ask("GET", "/v1/hello")));
    expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThan(10);
    expect((await ask("POST", "/v1/join", { body: machineAsks("m-6"), at: 1 })).status).toBe(202);
    await Promise.all(
      held.map(
        (socket) => new Promise((resolve) => (socket.destroyed ? resolve(0) : socket.on("close", resolve).resume())),
      ),
    );
    expect((await ask("GET", "/v1/hello")).status).toBe(200);
  }, 30_000);

  test("who tries tokens is shut out, and no token is in a log", async () => {
    const tried = `spj_${"z".repeat(16)}.${"Z".repeat(32)}`;
    const body = machineAsks("m-7");
    for (let turn = 0; turn < 10; turn += 1)
      expect((await ask("POST", "/v1/join", { body, token: tried })).status).toBe(401);
    expect((await ask("POST", "/v1/join", { body })).status).toBe(429);
    const logs = servers.programs.map((server) => server.logTail(10_000)).join("\n");
    for (const secret of [tried, readJoinString(joinString)?.token ?? "?", joinString])
      expect(logs).not.toContain(secret);
  });
});

test("a machine whose replica is killed under its wait goes on at the other, by the same pin and no second token", async () => {
  // The first one has shut this address out, for tokens that were tried: it answers polls.
  const [spare = 0, busy = 0] = ports;
  const service = new Service([busy, spare]);
  const { box, ended, said } = runScript("m-8", joinStringTo(await service.listen()));
  const join = await eventually(
    () => joinOf("m-8"),
    () => true,
  );
  const used = (await tokens())[0]?.joinCount;
  // A poll waits, which only the end of its server can end before half a minute is over.
  await eventually(
    async () => said().includes("kubectl patch machinejoin") && service.live(),
    (live) => live === 1,
  );
  expect(service.asked).toEqual(new Set([busy]));
  await servers.programs[1]?.kill("SIGKILL");
  await eventually(
    async () => service.asked.has(spare) && service.live(),
    (live) => live === 1,
  );
  expect(await cluster().kubectl(["patch", ...approval(join)], approver())).toMatchObject({ code: 0 });
  await sign(join);
  await registers("m-8");
  expect([await ended, said()]).toEqual([0, expect.stringContaining("the node m-8 is Ready")]);
  expect((await tokens())[0]?.joinCount).toBe(used);
  expect(box.has("join")).toBe(false);
  await service.close();
  await servers.programs[1]?.start(signal());
}, 300_000);

test("while the platform is away machines are told to come again, and the token is not used up", async () => {
  const used = (await tokens())[0]?.joinCount;
  world.gate.set("down");
  const { status, body } = await ask("POST", "/v1/join", { body: machineAsks("m-9"), at: 1 });
  expect({ status, code: body.code }).toEqual({ status: 503, code: "PLATFORM_UNAVAILABLE" });
  world.gate.set("open");
  expect((await tokens())[0]?.joinCount).toBe(used);
});

test("docs/data-that-leaves.md names all that the join server sent", () => {
  expect(captured.strangers).toEqual([]);
  expect(captured.undocumented(sentFields())).toEqual([]);
  expect([...captured.fields.keys()].toSorted()).toEqual(["machines.join", "machines.joinServer"]);
  expect([...captured.headers].filter((name) => HEADER_WORDS[name] === undefined)).toEqual([]);
});
