import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import type { StoredReceipt } from "../../../src/contract/access-requests/receipts.ts";
import { canonicalJson } from "../../../src/contract/operations/plan-hash.ts";
import { objectName } from "../../../src/crds/group.ts";
import { type AccessGrant, type AccessGrantSpec, accessGrants } from "../../../src/crds/kinds/access-grant.ts";
import { type ManagedDeployment, managedDeployments } from "../../../src/crds/kinds/managed-deployment.ts";
import type { Client } from "../../../src/kube/client/client.ts";
import { INSTALLED } from "../../world/installation.ts";
import { GRANTS, People } from "../../world/people.ts";
import type { Running } from "../../world/processes.ts";
import { eventually, signal } from "../../world/wait.ts";
import { type AgentWorld, createAgentWorld } from "./agent-world.ts";

// Grants end in a real cluster; its people print their receipts, and the platform serves the same bytes.

const cluster = useCluster({ holds: INSTALLED });
const MAIN = join(import.meta.dirname, "../../../src/cli/kubectl.ts");
let world: AgentWorld;
let agent: Running;
let operator: Running;
let folder = "";
let people: People;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-receipts-"));
  world = await createAgentWorld(cluster());
  people = new People(cluster());
  operator = world.startOperator();
  agent = world.startAgent("agent-1");
});
afterAll(async () => {
  await people?.close();
  await agent?.stop();
  await operator?.stop();
  await world?.close();
  await rm(folder, { recursive: true, force: true });
});

interface Printed {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

function kubectlSallyport(...words: readonly string[]): Promise<Printed> {
  return new Promise((done) => {
    const env = { ...process.env, KUBECONFIG: cluster().adminKubeconfig };
    execFile(process.execPath, [MAIN, "receipt", ...words], { env }, (error, stdout, stderr) => {
      done({ code: error?.code ?? 0, stdout, stderr });
    });
  });
}

async function decidedWhenPossible(id: string, words: Partial<AccessGrantSpec>): Promise<AccessGrant> {
  await eventually(
    () => world.decide(id, words).catch(() => undefined),
    ({ spec }) => spec.decidedBy !== undefined,
  );
  return world.grant(id, ({ status }) => status?.receipt !== undefined);
}

let grants: readonly AccessGrant[] = [];

test("grants that end at once get receipts of one chain, printed, checked offline and served by the platform in the same bytes", async () => {
  const asked = [await world.ask(2), await world.ask(3), await world.ask(4)];
  for (const { id } of asked) await world.grant(id, ({ status }) => status?.state === "Pending");
  const words = [{ approvedForMinutes: 30 }, { approvedForMinutes: 30 }, { deniedReason: "not today" }];
  grants = await Promise.all(asked.map(({ id }, index) => decidedWhenPossible(id, words[index] ?? {})));
  expect(grants.map(({ status }) => status?.receipt?.sequence).toSorted()).toEqual([1, 2, 3]);

  const name = objectName(world.deploymentId);
  const managed = await world.admin.get<ManagedDeployment>(managedDeployments, { namespace: GRANTS, name }, signal());
  const head = managed?.status?.receipts;
  expect(head?.sequence).toBe(3);

  const printed = await kubectlSallyport("--deployment", world.deploymentId);
  expect(printed.code, printed.stderr).toBe(0);
  const lines = printed.stdout.trimEnd().split("\n");
  expect(lines).toHaveLength(3);
  const file = join(folder, "receipts");
  await writeFile(file, printed.stdout);
  const held = await kubectlSallyport("verify", file, "--head", head?.digest ?? "");
  expect(held.code, held.stdout).toBe(0);
  await writeFile(file, `${[lines[0], lines[2]].join("\n")}\n`);
  const short = await kubectlSallyport("verify", file);
  expect([short.code, short.stdout]).toEqual([1, expect.stringContaining("number 2 is left out")]);

  for (const { id } of asked) {
    const served = await eventually(
      (): Promise<StoredReceipt | undefined> =>
        world.engineer.accessRequests.receipt({ params: { id } }, signal()).catch(() => undefined),
      ({ misfits }) => misfits.length === 0,
    );
    const { digest, receipt } = served;
    expect(lines).toContain(canonicalJson({ digest, receipt }));
  }
  const ran = JSON.parse(lines.find((line) => line.includes(`"${asked[0]?.id}"`)) ?? "{}").receipt;
  expect(ran).toMatchObject({
    state: "Completed",
    decision: { outcome: "approved", by: "alice", nameFrom: "stamped", minutes: 30 },
    lines: [{ state: "Succeeded", account: expect.stringMatching(/^grant-/), resultDigest: expect.any(String) }],
  });
});

test("neither a stolen operator, nor a stolen agent, nor an approver changes what a receipt says", async () => {
  const [operatorClient, agentClient] = [
    await people.account("sallyport-operator"),
    await people.account("sallyport-agent"),
  ];
  const [grant] = grants;
  if (grant === undefined) throw new Error("no grant");
  const { name } = grant.metadata;
  const status = (client: Client, body: object) =>
    client.patch(
      accessGrants,
      { namespace: GRANTS, name },
      { type: "merge", body: { status: body } },
      STATUS,
      signal(),
    );
  const commands = grant.status?.commands ?? [];
  const other = `sha256:${"0".repeat(64)}`;
  const conditions = grant.status?.conditions?.filter(({ type }) => type !== "IdentityVerified");
  const written = "a receipt is written once";
  const ended = "what its receipt says does not change";
  for (const [body, words] of [
    [{ receipt: { digest: other } }, written],
    [{ receipt: null }, written],
    [{ endedAt: "2026-01-01T00:00:00Z" }, ended],
    [{ commands: commands.map((line) => ({ ...line, resultDigest: other })) }, "a finished command line is terminal"],
    [{ conditions }, ended],
  ] as const) {
    await expect(status(operatorClient, body), words).rejects.toThrow(words);
  }
  await expect(world.decide(grant.spec.requestId, { revokedReason: "late" })).rejects.toThrow("this grant has ended");

  const key = { namespace: GRANTS, name: objectName(world.deploymentId) };
  const head = (client: Client, body: object) =>
    client.patch(managedDeployments, key, { type: "merge", body: { status: body } }, STATUS, signal());
  const before = await world.admin.get<ManagedDeployment>(managedDeployments, key, signal());
  const receipts = before?.status?.receipts;
  const goesOn = "a chain of receipts only goes on";
  const next = { ...receipts, sequence: 4, previous: receipts?.digest, digest: other };
  await expect(head(operatorClient, { receipts: { ...receipts, digest: other } })).rejects.toThrow(goesOn);
  await expect(head(operatorClient, { receipts: { ...next, previous: other } })).rejects.toThrow(goesOn);
  await expect(head(operatorClient, { receipts: null })).rejects.toThrow("cannot be dropped");
  await expect(head(operatorClient, { state: "Detached" })).rejects.toThrow("only its last receipt");
  await expect(head(agentClient, { receipts: next })).rejects.toThrow("is the operator's");
});

const STATUS = { subresource: "status" } as const;
