import { describe, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import type { Kind } from "../../../src/crds/kinds/kind.ts";
import { MACHINE_DRAIN } from "../../../src/crds/kinds/machine-drain.ts";
import { MACHINE_JOIN } from "../../../src/crds/kinds/machine-join.ts";
import { MACHINE_POOL } from "../../../src/crds/kinds/machine-pool.ts";
import { type Answer, kindObjects } from "../kind-objects.ts";

const cluster = useCluster();
const KINDS = [MACHINE_POOL, MACHINE_JOIN, MACHINE_DRAIN] as const;
const AT = "2026-01-01T12:00:00Z";
const LATER = "2026-01-01T13:00:00Z";
const PEM = "-----BEGIN CERTIFICATE-----";

let made = 0;

const objects = kindObjects(cluster, KINDS);

interface Made {
  readonly name: string;
  readonly created: Answer;
  patch(spec: object): Promise<Answer>;
  report(status: object): Promise<Answer>;
}

async function create(kind: Kind, name: string, spec: object): Promise<Made> {
  return {
    name,
    created: await objects.create(kind, name, spec),
    patch: (changed) => objects.patch(kind, name, { spec: changed }),
    report: (status) => objects.report(kind, name, status),
  };
}

const key = (): string => (made++).toString(16).padStart(12, "0").padEnd(64, "a");

function join(spec: object = {}, name?: string): Promise<Made> {
  const publicKey = key();
  const asked = {
    pool: "workers",
    machineId: "box-7",
    nodeName: "m-7",
    publicKey,
    request: "TUlJQg==",
    facts: { os: "linux", arch: "amd64", address: "10.0.0.7" },
    tokenId: "0123456789abcdef",
  };
  return create(MACHINE_JOIN, name ?? `workers-${publicKey.slice(0, 12)}`, { ...asked, ...spec });
}

const pool = (spec: object = {}): Promise<Made> =>
  create(MACHINE_POOL, `pool-${made++}`, { deploymentId: "dep_1", ...spec });
const drain = (spec: object = {}): Promise<Made> =>
  create(MACHINE_DRAIN, `drain-${made++}`, { nodeName: "ip-10-0-0-1.internal", ...spec });

function expectAnswer({ status, message }: Answer, words: string | undefined, passes: number): void {
  expect({ status, message }).toEqual(
    words === undefined ? { status: passes, message: "" } : { status: 422, message: expect.stringContaining(words) },
  );
}

describe("a pool", () => {
  test.each([
    ["needs only its deployment", {}, undefined],
    [
      "with labels and taints",
      { labels: { "shop.example/tier": "fast" }, taints: [{ key: "gpu", effect: "NoSchedule" }] },
      undefined,
    ],
    [
      "a label that a kubelet may not set",
      { labels: { "node-role.kubernetes.io/control-plane": "" } },
      "labels are label keys",
    ],
    ["a label of kubernetes.io itself", { labels: { "kubernetes.io/os": "linux" } }, "labels are label keys"],
    ["an unknown effect", { taints: [{ key: "gpu", effect: "Never" }] }, "Unsupported value"],
    ["an API server without TLS", { apiServer: "http://10.0.0.1:6443" }, "spec.apiServer"],
    ["an API server with a path", { apiServer: "https://10.0.0.1:6443/x" }, "spec.apiServer"],
    ["an API server by IPv6", { apiServer: "https://[fd00::1]:6443" }, undefined],
    ["a prefix that is no name", { namePrefix: "M_" }, "spec.namePrefix"],
    ["an unknown approval", { approval: "never" }, "Unsupported value"],
    ["a skip selector with a line break", { drain: { skip: ["app=a\nb"] } }, "skip"],
  ])("%s", async (_, spec, words) => expectAnswer((await pool(spec)).created, words, 201));

  test.each([
    ["may take more machines", { maxMachines: 50 }, undefined],
    ["keeps its deployment", { deploymentId: "dep_2" }, "deploymentId and namePrefix are immutable"],
    ["keeps its prefix", { namePrefix: "control-plane-" }, "deploymentId and namePrefix are immutable"],
  ])("%s", async (_, spec, words) => expectAnswer(await (await pool()).patch(spec), words, 200));

  test("says how the join server is reached, with a pin that curl reads", async () => {
    const { report } = await pool();
    const pins = [`sha256//${"A".repeat(43)}=`];
    expectAnswer(await report({ joinServer: { url: "https://join.example:8443", pins, at: AT } }), undefined, 200);
    expectAnswer(await report({ joinServer: { url: "https://join.example:8443", pins: ["A"], at: AT } }), "pins", 200);
  });
});

describe("a join", () => {
  test.each([
    ["is taken as asked", {}, undefined],
    ["already approved", { approved: true }, "already approved or denied"],
    ["already denied", { deniedReason: "no" }, "already approved or denied"],
    ["with a name of an approver", { approvedBy: "jo" }, "already approved or denied"],
    ["a node name with a dot", { nodeName: "m.7" }, "spec.nodeName"],
    ["a node name in capitals", { nodeName: "M-7" }, "spec.nodeName"],
    ["a key of another length", { publicKey: "a".repeat(63) }, "spec.publicKey"],
    ["a request that is no base64", { request: "-----BEGIN" }, "spec.request"],
    ["a fact with an escape", { facts: { kernel: "\u001b[2J" } }, "spec.facts.kernel"],
  ])("%s", async (_, spec, words) => expectAnswer((await join(spec)).created, words, 201));

  test("is named by its key, so that the same key is the same object", async () => {
    expectAnswer((await join({}, "workers-0")).created, "the name must be the pool", 201);
  });

  test.each([
    ["an approval", [{ approved: true }], undefined],
    ["approved false is no word", [{ approved: false }], "to deny, write deniedReason"],
    ["an approval taken back", [{ approved: true }, { approved: null }], "an approval is final"],
    ["a denial", [{ deniedReason: "unknown box" }], undefined],
    ["a denial after the approval", [{ approved: true }, { deniedReason: "wrong box" }], undefined],
    ["a denial taken back", [{ deniedReason: "no" }, { deniedReason: null }], "a denial is final"],
    ["another node name", [{ nodeName: "m-8" }], "what the machine asked for is immutable"],
    ["another key", [{ publicKey: "b".repeat(64) }], "what the machine asked for is immutable"],
    ["other facts", [{ facts: { os: "plan9" } }], "what the machine asked for is immutable"],
  ])("%s", async (_, patches, words) => {
    const { patch } = await join();
    let last: Answer | undefined;
    for (const spec of patches) last = await patch(spec);
    expectAnswer(last as Answer, words, 200);
  });

  test("goes through its states in order, and never back", async () => {
    const { report } = await join();
    for (const status of [
      { state: "Waiting" },
      { state: "Approved" },
      { state: "Signing", csr: "sp-0123456789ab" },
      { state: "Issued", certificate: PEM, notAfter: LATER },
      { state: "Joined", nodeUid: "1" },
    ])
      expectAnswer(await report(status), undefined, 200);
    expectAnswer(await report({ state: "Waiting" }), "status.state only goes on", 200);
    expectAnswer(await report({ certificate: "other" }), "certificate is write-once", 200);
    expectAnswer(await report({ csr: null }), "csr is write-once", 200);
    expectAnswer(await report({ state: "Removed" }), undefined, 200);
    expectAnswer(await report({ state: "Joined" }), "status.state only goes on", 200);
  });

  test("is not issued without a certificate", async () => {
    const { report } = await join();
    for (const state of ["Waiting", "Approved", "Signing"]) await report({ state });
    expectAnswer(await report({ state: "Issued" }), "an issued join needs its certificate", 200);
  });

  test("that was denied goes no further", async () => {
    const { patch, report } = await join();
    await report({ state: "Waiting" });
    await patch({ deniedReason: "unknown box" });
    expectAnswer(await report({ state: "Approved" }), "a join that was denied goes no further", 200);
    expectAnswer(await report({ state: "Denied" }), undefined, 200);
  });
});

describe("a drain", () => {
  test.each([
    ["needs only its node, which may have dots", {}, undefined],
    ["a node that is a path", { nodeName: "a/../b" }, "spec.nodeName"],
    ["no node", { nodeName: undefined }, "nodeName"],
  ])("%s", async (_, spec, words) => expectAnswer((await drain(spec)).created, words, 201));

  test.each([
    ["a nearer deadline", { deadlineAt: AT }, undefined],
    ["a later deadline", { deadlineAt: "2026-01-01T14:00:00Z" }, "a deadline only comes nearer"],
    ["no deadline any more", { deadlineAt: null }, "a deadline only comes nearer"],
    ["force", { force: true }, undefined],
    ["another node", { nodeName: "m-8" }, "nodeName is immutable"],
    [
      "a wish of the platform added later",
      { requested: { deploymentId: "d", machineId: "m", revision: 1 } },
      "requested is written at create",
    ],
  ])("%s", async (_, spec, words) => expectAnswer(await (await drain({ deadlineAt: LATER })).patch(spec), words, 200));

  test("force cannot be taken back", async () => {
    const { patch } = await drain({ force: true });
    expectAnswer(await patch({ force: false }), "force cannot be taken back", 200);
  });

  test("ends once", async () => {
    const { report } = await drain();
    expectAnswer(await report({ state: "Draining", startedAt: AT, cordonedByUs: true }), undefined, 200);
    expectAnswer(await report({ cordonedByUs: false }), "cordonedByUs is write-once", 200);
    expectAnswer(await report({ state: "Drained", drainedAt: LATER }), undefined, 200);
    expectAnswer(await report({ state: "Draining" }), "a drain ends once", 200);
    expectAnswer(await report({ drainedAt: AT }), "drainedAt is write-once", 200);
  });
});
