import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join as path } from "node:path";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { runs } from "../../base/testing/runs.ts";
import type { MachineJoin, MachineJoinSpec } from "../../crds/kinds/machine-join.ts";
import type { MachinePool, MachinePoolSpec } from "../../crds/kinds/machine-pool.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import { judgeNodeRequest } from "../../kube/objects/node-request.ts";
import { type SigningRequest, WAITING_MS } from "./decide-join.ts";
import { type JoinPorts, reconcileJoin } from "./join-reconciler.ts";
import { Places } from "./places.ts";

const SELF = "system:serviceaccount:sallyport-system:sallyport-machines";
const NAMESPACE = "sallyport-grants";

interface Machine {
  readonly request: string;
  readonly pem: string;
  readonly publicKey: string;
  readonly certificate: string;
}

/** Real keys, requests and certificates, made once. */
const machines = new Map<string, Machine>();

function makeMachine(nodeName: string): Machine {
  const folder = mkdtempSync(path(tmpdir(), "machine-"));
  const run = (...args: readonly string[]): Buffer =>
    execFileSync("openssl", args, { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
  run(...["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "key.pem"]);
  const subject = ["-subj", `/O=system:nodes/CN=system:node:${nodeName}`];
  const der = run(...["req", "-new", "-key", "key.pem", ...subject, "-outform", "DER"]);
  writeFileSync(path(folder, "request.der"), der);
  const pem = run("req", "-in", "request.der", "-inform", "DER").toString();
  const certificate = run(...["req", "-x509", "-new", "-key", "key.pem", ...subject, "-days", "1"]).toString();
  const judged = judgeNodeRequest(der, nodeName);
  if ("refused" in judged) throw new Error(judged.refused);
  return { request: der.toString("base64"), pem, publicKey: judged.request.publicKey, certificate };
}

const machine = (name: string): Machine => {
  const found = machines.get(name);
  if (found === undefined) throw new Error(`no machine ${name}`);
  return found;
};

beforeAll(() => {
  for (const name of ["m-1", "m-2", "m-3", "m-4", "m-5", "m-6", "control-plane-1"])
    machines.set(name, makeMachine(name));
}, 60_000);

const conflict = (): ApiError => new ApiError("it has moved on", { status: 409, reason: "Conflict" });

/** An API server's memory: joins, one pool, certificate requests and nodes; `crash` says at which write the process dies. */
class World {
  readonly clock = new FakeClock("2026-01-01T12:00:00Z");
  readonly joins = new Map<string, MachineJoin>();
  readonly requests = new Map<string, SigningRequest>();
  readonly nodes = new Map<string, { readonly uid: string; readonly isAlive: boolean }>();
  readonly log: string[] = [];
  /** What the cache shows, which may be older. */
  readonly cache = new Map<string, MachineJoin>();
  isCacheFrozen = false;
  signs = true;
  obstacle: string | undefined;
  crash: () => "before" | "after" | undefined = () => undefined;
  pool: MachinePool | undefined = {
    apiVersion: "sallyport.dev/v1alpha1",
    kind: "MachinePool",
    metadata: {
      ...{ name: "workers", namespace: NAMESPACE, uid: "p-1", resourceVersion: "1" },
      creationTimestamp: "2026-01-01T00:00:00Z",
    },
    spec: { deploymentId: "dep_1", namePrefix: "m-", maxMachines: 2, approval: "manual" },
  };
  places = new Places();

  say(spec: Partial<MachinePoolSpec>): void {
    if (this.pool !== undefined) this.pool = { ...this.pool, spec: { ...this.pool.spec, ...spec } };
  }

  ask(nodeName: string, changed: Partial<MachineJoinSpec> = {}, at = this.joins.size): string {
    const { request, publicKey } = machine(nodeName);
    const key = `${NAMESPACE}/workers-${publicKey.slice(0, 12)}-${at}`;
    const spec: MachineJoinSpec = {
      ...{ pool: "workers", machineId: nodeName, nodeName, publicKey, request, facts: {}, tokenId: "t" },
      ...changed,
    };
    const uid = `${String(at).padStart(8, "0")}-0000-4000-8000-000000000000`;
    this.#store(key, {
      apiVersion: "sallyport.dev/v1alpha1",
      kind: "MachineJoin",
      metadata: {
        ...{ name: key.split("/")[1] ?? "", namespace: NAMESPACE, uid, resourceVersion: "1" },
        creationTimestamp: new Date(this.clock.wallNow().getTime() + at).toISOString(),
      },
      spec,
    });
    return key;
  }

  askBefore(nodeName: string): void {
    this.ask(nodeName, { machineId: "other" }, 0);
  }

  withoutPool(): void {
    this.pool = undefined;
  }

  decide(key: string, words: Partial<MachineJoinSpec>): void {
    const join = this.joins.get(key);
    if (join !== undefined) this.#store(key, { ...join, spec: { ...join.spec, ...words } });
  }

  #store(key: string, join: MachineJoin): MachineJoin {
    const resourceVersion = String(Number(join.metadata.resourceVersion) + 1);
    const stored = { ...join, metadata: { ...join.metadata, resourceVersion } };
    this.joins.set(key, stored);
    if (!this.isCacheFrozen) this.cache.set(key, stored);
    return stored;
  }

  thaw(): void {
    this.isCacheFrozen = false;
    for (const [key, join] of this.joins) this.cache.set(key, join);
  }

  /** Until after the end of the join's certificate. */
  outlive(key: string): void {
    const { notAfter = "" } = this.joins.get(key)?.status ?? {};
    this.clock.advance(Date.parse(notAfter) - this.clock.wallNow().getTime() + 1_000);
  }

  state(key: string): string {
    return this.joins.get(key)?.status?.state ?? "none";
  }

  reason(key: string): string | undefined {
    return this.joins.get(key)?.status?.conditions?.find(({ status }) => status === "False")?.reason;
  }

  async #effect<T>(word: string, effect: () => T): Promise<T> {
    const when = this.crash();
    if (when === "before") throw new Error("crash");
    const answer = effect();
    this.log.push(word);
    if (when === "after") throw new Error("crash");
    return answer;
  }

  get ports(): JoinPorts {
    return {
      ...{
        clock: this.clock,
        fence: () => undefined,
        self: async () => SELF,
        places: this.places,
        obstacle: () => this.obstacle,
      },
      join: (key) => this.cache.get(key),
      joins: () => this.cache.values(),
      pool: () => (this.pool === undefined ? undefined : { pool: this.pool, isSuperseded: false }),
      node: (name) => this.nodes.get(name),
      liveNode: async (name) => this.nodes.get(name),
      signingRequest: async (name) => this.requests.get(name),
      createRequest: (join) =>
        this.#effect("create", () => {
          const name = `sp-${join.metadata.uid.replaceAll("-", "").slice(0, 12)}`;
          const request = Buffer.from(machine(join.spec.nodeName).pem).toString("base64");
          const createdAt = this.clock.wallNow().toISOString();
          this.requests.set(name, { request, username: SELF, isApproved: false, createdAt });
        }),
      approveRequest: (name) =>
        this.#effect("approve", () => {
          const request = this.requests.get(name);
          if (request !== undefined) this.requests.set(name, { ...request, isApproved: true, ...this.#signed(name) });
        }),
      writeStatus: (join, status) =>
        this.#effect(status.state ?? "none", () => {
          const key = `${NAMESPACE}/${join.metadata.name}`;
          const known = this.joins.get(key);
          if (known?.metadata.resourceVersion !== join.metadata.resourceVersion) throw conflict();
          return this.#store(key, { ...join, status });
        }),
      refuse: (join) =>
        this.#effect("refuse", () => {
          const labels = { "sallyport.dev/removed": "true" };
          this.#store(`${NAMESPACE}/${join.metadata.name}`, { ...join, metadata: { ...join.metadata, labels } });
        }),
      publisher: { became: (join, from) => this.log.push(`${from ?? "none"} to ${join.status?.state}`) },
    };
  }

  #signed(name: string): { certificate?: string } {
    if (!this.signs) return {};
    const join = [...this.joins.values()].find(
      ({ metadata }) => name === `sp-${metadata.uid.replaceAll("-", "").slice(0, 12)}`,
    );
    return join === undefined ? {} : { certificate: machine(join.spec.nodeName).certificate };
  }

  /** As several workers do that were woken by the same answer. */
  async lookAtOnce(): Promise<void> {
    const context = { signal: new AbortController().signal, log: silentLogger, reconcileId: "1" };
    const { ports } = this;
    await Promise.all([...this.joins.keys()].map((key) => reconcileJoin(key, ports, context)));
  }

  /** As the queue does: all joins, again and again; a crash is a new process that remembers nothing. */
  async run(turns = 20): Promise<void> {
    const context = { signal: new AbortController().signal, log: silentLogger, reconcileId: "1" };
    for (let turn = 0; turn < turns; turn += 1) {
      for (const key of this.joins.keys()) {
        await reconcileJoin(key, this.ports, context).catch((error: unknown) => {
          if (!(error instanceof Error && error.message === "crash")) throw error;
          this.places = new Places();
          this.thaw();
        });
      }
      this.clock.advance(100);
    }
  }
}

describe("a join", () => {
  test("waits for a person, is signed, and has joined when its node lives", async () => {
    const world = new World();
    const key = world.ask("m-1");
    await world.run();
    expect(world.state(key)).toBe("Waiting");
    expect(world.joins.get(key)?.status?.approvalLine).toMatch(/^kubectl patch mjoin workers-/);
    world.decide(key, { approved: true, approvedBy: "ann" });
    await world.run();
    expect(world.joins.get(key)?.status).toMatchObject({ state: "Issued", certificate: machine("m-1").certificate });
    expect(world.joins.get(key)?.status?.approvalLine).toBeUndefined();
    world.nodes.set("m-1", { uid: "n-1", isAlive: true });
    await world.run();
    expect(world.joins.get(key)?.status).toMatchObject({ state: "Joined", nodeUid: "n-1" });
    expect(world.log).toEqual([
      ...["Waiting", "none to Waiting", "Approved", "Waiting to Approved", "create", "approve", "Signing"],
      ...["Approved to Signing", "Issued", "Signing to Issued", "Joined", "Issued to Joined"],
    ]);
  });

  test("is let in by the pool itself where the pool says so", async () => {
    const world = new World();
    world.say({ approval: "automatic" });
    const key = world.ask("m-1");
    await world.run();
    expect(world.state(key)).toBe("Issued");
  });

  const swapped = (): Partial<MachineJoinSpec> => ({
    request: machine("m-2").request,
    publicKey: machine("m-2").publicKey,
  });
  test.each<readonly [string, string, (world: World, key: string) => void]>([
    ["a person refuses it", "DeniedByPerson", (world, key) => world.decide(key, { deniedReason: "unknown box" })],
    ["there is no pool", "PoolGone", (world) => world.withoutPool()],
    ["the pool takes no more machines", "PoolClosed", (world) => world.say({ until: "2026-01-01T11:59:59Z" })],
    ["its name is not the pool's to give", "NameNotAllowed", (world) => world.say({ namePrefix: "w-" })],
    ["a node has the name", "NameTaken", (world) => world.nodes.set("m-1", { uid: "x", isAlive: false })],
    ["an older join has the name", "NameTaken", (world) => world.askBefore("m-1")],
    ["the request is for another name", "BadRequest", (world, key) => world.decide(key, swapped())],
    ["the key is another one", "BadRequest", (world, key) => world.decide(key, { publicKey: "0".repeat(64) })],
  ])("is denied when %s", async (_, reason, spoil) => {
    const world = new World();
    world.say({ approval: "automatic" });
    const key = world.ask("m-1", {}, 1);
    spoil(world, key);
    await world.run();
    expect({ state: world.state(key), reason: world.reason(key) }).toEqual({ state: "Denied", reason });
  });

  test("of a machine that was removed is denied while its tombstone stands", async () => {
    const world = new World();
    world.say({ approval: "automatic" });
    const gone = world.ask("m-1");
    const join = world.joins.get(gone);
    if (join !== undefined) world.joins.set(gone, { ...join, status: { state: "Removed" } });
    world.thaw();
    const again = world.ask("m-1");
    await world.run();
    expect({ state: world.state(again), reason: world.reason(again) }).toEqual({
      state: "Denied",
      reason: "NameTaken",
    });
  });

  test("whose certificate was never used ends: the machine is refused, and nothing else gets its name", async () => {
    const world = new World();
    world.say({ approval: "automatic" });
    const key = world.ask("m-1");
    await world.run();
    expect(world.state(key)).toBe("Issued");
    world.log.length = 0;
    world.outlive(key);
    await world.run();
    expect(world.state(key)).toBe("Expired");
    expect(world.log[0]).toBe("refuse");
    expect(world.joins.get(key)?.metadata.labels).toEqual({ "sallyport.dev/removed": "true" });
    const again = world.ask("m-1");
    await world.run();
    expect([world.state(again), world.reason(again)]).toEqual(["Denied", "NameTaken"]);
  });

  test.each([["before its node is there"], ["while its node is not Ready"]])(
    "that a person refuses %s is kept out, though it has its certificate",
    async (when) => {
      const world = new World();
      world.say({ approval: "automatic" });
      const key = world.ask("m-1");
      await world.run();
      if (when.startsWith("while")) world.nodes.set("m-1", { uid: "n-1", isAlive: false });
      world.decide(key, { deniedReason: "unknown box" });
      world.log.length = 0;
      await world.run();
      expect([world.state(key), world.reason(key)]).toEqual(["Expired", "DeniedByPerson"]);
      expect(world.log[0]).toBe("refuse");
      world.nodes.set("m-1", { uid: "n-1", isAlive: true });
      await world.run();
      expect(world.state(key)).toBe("Expired");
    },
  );

  test("whose node is not Ready keeps its name and its place", async () => {
    const world = new World();
    world.say({ approval: "automatic" });
    const key = world.ask("m-1");
    await world.run();
    world.nodes.set("m-1", { uid: "n-1", isAlive: false });
    world.outlive(key);
    await world.run();
    expect(world.state(key)).toBe("Issued");
  });

  test("ends after a day without an answer", async () => {
    const world = new World();
    const key = world.ask("m-1");
    await world.run(1);
    world.clock.advance(WAITING_MS);
    await world.run(1);
    expect(world.state(key)).toBe("Expired");
  });

  test("is denied with a hint when the cluster's signer does not sign", async () => {
    const world = new World();
    world.signs = false;
    const key = world.ask("m-1");
    world.decide(key, { approved: true });
    await world.run();
    expect(world.state(key)).toBe("Signing");
    world.clock.advance(120_000);
    await world.run();
    expect({ state: world.state(key), reason: world.reason(key) }).toEqual({ state: "Denied", reason: "SignerSilent" });
  });

  test("takes no certificate of a request that another account made", async () => {
    const world = new World();
    const key = world.ask("m-1");
    world.decide(key, { approved: true });
    const request = Buffer.from(machine("m-1").pem).toString("base64");
    const createdAt = world.clock.wallNow().toISOString();
    world.requests.set("sp-000000000000", { request, username: "eve", isApproved: true, createdAt });
    await world.run();
    expect({ state: world.state(key), reason: world.reason(key) }).toEqual({ state: "Denied", reason: "RequestTaken" });
  });

  test("goes nowhere while a policy is missing that bounds this process", async () => {
    const world = new World();
    world.say({ approval: "automatic" });
    const key = world.ask("m-1");
    world.obstacle = "admission policies are missing: sallyport-machines-csr";
    await world.run();
    expect([world.state(key), world.log]).toEqual(["none", []]);
    world.obstacle = undefined;
    await world.run();
    expect(world.state(key)).toBe("Issued");
  });

  test("takes no certificate for another key", async () => {
    const world = new World();
    const key = world.ask("m-1");
    world.decide(key, { approved: true });
    world.signs = false;
    await world.run();
    const [[name, request] = ["", undefined]] = world.requests;
    if (request !== undefined) world.requests.set(name, { ...request, certificate: machine("m-2").certificate });
    await world.run();
    expect({ state: world.state(key), reason: world.reason(key) }).toEqual({ state: "Denied", reason: "SignerFailed" });
  });
});

describe("many joins", () => {
  test("six machines race for two places: two get in, also while the cache shows no approval", async () => {
    const world = new World();
    world.say({ approval: "automatic" });
    const keys = ["m-1", "m-2", "m-3", "m-4", "m-5", "m-6"].map((name) => world.ask(name));
    world.isCacheFrozen = true;
    await world.run(1);
    world.thaw();
    await world.run();
    expect(keys.map((key) => world.state(key)).filter((state) => state === "Issued")).toHaveLength(2);
    expect(keys.map((key) => world.reason(key)).filter((reason) => reason === "PoolFull")).toHaveLength(4);
  });

  test("six machines are looked at at once for two places: two get in", async () => {
    const world = new World();
    world.say({ approval: "automatic" });
    const keys = ["m-1", "m-2", "m-3", "m-4", "m-5", "m-6"].map((name) => world.ask(name));
    await world.lookAtOnce();
    expect(keys.map((key) => world.state(key)).filter((state) => state === "Approved")).toHaveLength(2);
    await world.run();
    expect(keys.map((key) => world.reason(key)).filter((reason) => reason === "PoolFull")).toHaveLength(4);
  });

  test("one that a person let in waits for a place, and gets it when the pool has one", async () => {
    const world = new World();
    world.say({ maxMachines: 0 });
    const key = world.ask("m-1");
    world.decide(key, { approved: true });
    await world.run();
    const conditions = [{ type: "Approved", status: "Unknown", reason: "PoolFull" }];
    expect(world.joins.get(key)?.status).toMatchObject({ state: "Waiting", conditions });
    world.say({ maxMachines: 1 });
    await world.run();
    expect(world.state(key)).toBe("Issued");
  });

  test("wherever the process dies, and as often: no more get in than there are places, each with one request", async () => {
    const crash = fc.constantFrom("before" as const, "after" as const, undefined, undefined, undefined, undefined);
    await fc.assert(
      fc.asyncProperty(fc.array(crash, { maxLength: 20 }), async (crashes) => {
        const world = new World();
        world.say({ approval: "automatic" });
        const keys = ["m-1", "m-2", "m-3"].map((name) => world.ask(name));
        let writes = 0;
        world.crash = () => crashes[writes++];
        await world.run(60);
        expect(keys.map((key) => world.state(key)).sort()).toEqual(["Denied", "Issued", "Issued"]);
        expect(world.requests.size).toBe(2);
        expect(world.log.filter((word) => word === "Issued")).toHaveLength(2);
      }),
      { numRuns: runs(200) },
    );
  });
});
