import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { sleep, systemClock } from "../../../src/base/clock.ts";
import { fullOnly } from "../../../src/base/testing/full.ts";
import { objectName } from "../../../src/crds/group.ts";
import { type ManagedDeployment, managedDeployments } from "../../../src/crds/kinds/managed-deployment.ts";
import { INSTALLED } from "../../world/installation.ts";
import { GRANTS } from "../../world/people.ts";
import type { Running } from "../../world/processes.ts";
import { eventually, signal } from "../../world/wait.ts";
import { type AgentWorld, createAgentWorld } from "./agent-world.ts";
import type { HeardAnswer } from "./platform-gate.ts";

/** A mounted Secret as the kubelet writes it: one folder for each version, and one link that is swapped. */
class MountedSecret {
  readonly file: string;
  readonly #folder: string;
  #versions = 0;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
    this.file = join(folder, "key");
  }

  /** Source: kubernetes pkg/volume/util/atomic_writer.go. */
  put(key: string): void {
    const before = this.#versions;
    this.#versions += 1;
    const version = `..2026_11_20_${this.#versions}`;
    mkdirSync(join(this.#folder, version));
    writeFileSync(join(this.#folder, version, "key"), `${key}\n`);
    symlinkSync(version, join(this.#folder, "..data_tmp"));
    renameSync(join(this.#folder, "..data_tmp"), join(this.#folder, "..data"));
    if (before === 0) symlinkSync("..data/key", this.file);
    else rmSync(join(this.#folder, `..2026_11_20_${before}`), { recursive: true });
  }
}

const cluster = useCluster({ holds: INSTALLED });
const answers: HeardAnswer[] = [];
let world: AgentWorld;
let agent: Running;
let operator: Running;
let secret: MountedSecret;

beforeAll(async () => {
  world = await createAgentWorld(cluster());
  world.gate.onAnswered = (answer) => void answers.push(answer);
  secret = new MountedSecret(join(dirname(world.keyFile), "runtime-key"));
  secret.put(world.runtimeKey);
  operator = world.startOperator();
  agent = world.startAgent("agent-1", {
    SALLYPORT_RUNTIME_KEY_FILE: secret.file,
    SALLYPORT_HEARTBEAT_INTERVAL: "1s",
  });
  await ran(await invoke());
});
afterAll(async () => {
  await agent?.stop();
  await operator?.stop();
  await world?.close();
});

test("a key swapped under traffic is taken up without a failed request or a restart, and the old one can go", async () => {
  const [second, from] = [await mint("second"), answers.length];
  const done: string[] = [];
  const stop = new AbortController();
  const traffic = (async () => {
    while (!stop.signal.aborted) {
      const id = await invoke();
      await ran(id);
      done.push(id);
    }
  })();
  traffic.catch(() => undefined);
  secret.put(second.key);
  await eventually(
    async () => answers.at(-1)?.authorization,
    (last) => last === `Bearer ${second.key}`,
  );
  // Both keys are valid. Only a poll that has waited since before the swap still uses the old one.
  await eventually(
    async () => answers.slice(-5),
    (last) => last.every(({ authorization }) => authorization === `Bearer ${second.key}`),
  );
  await revoke("runtime key of customer-one");
  const since = done.length;
  await Promise.race([
    traffic,
    eventually(
      async () => done.length,
      (count) => count >= since + 3,
      120_000,
    ),
  ]);
  stop.abort();
  await traffic;
  const failed = answers.slice(from).filter(({ status }) => status >= 400);
  expect(failed).toEqual([]);
  expect(agent.failure).toBeUndefined();
  expect(world.logged.filter((line) => line.includes('"message":"leading"') && line.includes("agent-1"))).toHaveLength(
    1,
  );
  expect(await agent.registry.metrics()).toContain('sallyport_runtime_key_reloads_total{result="changed"} 2');
});

fullOnly("a revoked key is said loudly, tried slowly, and healed by a new one without a restart", async () => {
  const loudBefore = loud().length;
  await revoke("second");
  await connected("KeyRefused");
  expect(
    loud()
      .slice(loudBefore)
      .map((line) => JSON.parse(line).reason),
  ).toEqual(["KeyRefused"]);
  // The first tries come soon, because the problem may pass; then tries become rare.
  await sleep(systemClock, 10_000, signal());
  const before = answers.length;
  await sleep(systemClock, 10_000, signal());
  expect(answers.length - before).toBeLessThan(40);
  expect(agent.failure).toBeUndefined();
  secret.put((await mint("third")).key);
  await connected("Connected");
  await ran(await invoke());
});

test("a start without a key is said once, in the log and in the condition, and healed by the key", async () => {
  await agent.stop();
  secret.put("no key, but words");
  agent = world.startAgent("agent-2", { SALLYPORT_RUNTIME_KEY_FILE: secret.file });
  await connected("KeyRefused");
  // Time for a few tries of everything that waits.
  await sleep(systemClock, 5_000, signal());
  expect(loud("agent-2").map((line) => JSON.parse(line).reason)).toEqual(["KeyRefused"]);
  secret.put((await mint("fourth")).key);
  await connected("Connected");
  await ran(await invoke());
});

/** The warnings and errors of an agent. */
function loud(name = "agent-1"): readonly string[] {
  return world.logged.filter((line) => /"level":"(warn|error)"/.test(line) && line.includes(name));
}

async function connected(reason: string): Promise<void> {
  const key = { namespace: GRANTS, name: objectName(world.deploymentId) };
  const read = () => world.admin.get<ManagedDeployment>(managedDeployments, key, signal());
  const says = ({ status }: ManagedDeployment): boolean =>
    status?.conditions?.some((each) => each.type === "Connected" && each.reason === reason) ?? false;
  await eventually(read, says, 120_000);
}

async function mint(description: string): Promise<{ readonly key: string }> {
  const scope = { type: "manager" as const, managerId: world.managerId, role: "manager.runtime" as const };
  const minted = await world.vendorAdmin.apiKeys.create({ body: { description, scope } }, signal());
  return { key: minted.apiKey };
}

async function revoke(description: string): Promise<void> {
  const list = await world.vendorAdmin.apiKeys.list({ query: { limit: 100 } }, signal());
  const found = list.items.find((key) => key.description === description);
  await world.vendorAdmin.apiKeys.revoke({ params: { id: found?.id ?? "" } }, signal());
}

async function invoke(): Promise<string> {
  const params = { namespace: "shop" };
  const body = { deploymentId: world.deploymentId, plugin: "kubernetes", operation: "get-pods", params };
  const answer = await world.engineer.operations.invoke({ query: { project: world.projectId }, body }, signal());
  return String(answer.commandId);
}

async function ran(id: string): Promise<void> {
  await world.command(id, ({ state }) => state === "SUCCEEDED");
}
