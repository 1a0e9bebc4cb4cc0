import { readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { eventually } from "../integration/wait.ts";
import { soon, useCast } from "./cast.ts";
import { runtimeKeySecret } from "./installation.ts";
import { apply } from "./kubectl.ts";
import { SHOP } from "./scene.ts";

const cast = useCast();

test("the runtime key changes during traffic: no request fails, nothing restarts", async () => {
  const { scene, vendorAdmin } = cast();
  const { managerId, keyFiles } = scene.vendor;
  const [before] = await cast().pods("agent");
  const since = (await cast().seenByFront()).length;
  const traffic = startTraffic();

  const reloads = () => cast().metric("agent", 'sallyport_runtime_key_reloads_total{result="changed"}');
  const reloadsBefore = await reloads();
  const scope = { type: "manager" as const, managerId, role: "manager.runtime" as const };
  const body = { description: `rotated ${Date.now()}`, scope };
  const { apiKey } = await vendorAdmin.apiKeys.create({ body }, soon());
  const oldKey = (await readFile(keyFiles.runtime, "utf8")).trim();
  await apply(scene, [runtimeKeySecret(apiKey)], soon());
  // The kubelet brings a changed Secret into a pod at its next sync of that pod.
  await eventually(reloads, (count) => count > reloadsBefore, 150_000);

  const { items } = await vendorAdmin.apiKeys.list({ query: { limit: 100 } }, soon());
  const old = items.filter(({ keyPrefix, revokedAt }) => revokedAt === null && oldKey.startsWith(keyPrefix));
  expect(old).toHaveLength(1);
  await vendorAdmin.apiKeys.revoke({ params: { id: old[0]?.id ?? "" } }, soon());
  await writeFile(keyFiles.runtime, apiKey, { mode: 0o600 });
  const runsBefore = traffic.runs();
  await eventually(
    async () => traffic.runs(),
    (runs) => runs >= runsBefore + 5,
    120_000,
  );
  expect(await traffic.stop()).toEqual([]);

  const seen = (await cast().seenByFront()).slice(since);
  expect(seen.length).toBeGreaterThan(20);
  // 409 is an answer too: another agent, for instance the one before this, holds a lease.
  const isFailure = (status: number): boolean => status === 0 || (status >= 400 && status !== 409);
  expect(seen.filter(({ status }) => isFailure(status))).toEqual([]);
  const [after] = await cast().pods("agent");
  expect(after?.metadata.uid).toBe(before?.metadata.uid);
  expect(after?.status?.containerStatuses?.[0]?.restartCount).toBe(0);
}, 400_000);

/** One operation after the other, as fast as they go. */
function startTraffic() {
  const problems: string[] = [];
  let count = 0;
  let isOver = false;
  const running = (async () => {
    while (!isOver) {
      try {
        const { state, error } = await cast().look("get-pods", { namespace: SHOP });
        if (state === "SUCCEEDED") count += 1;
        else problems.push(`${state}: ${JSON.stringify(error)}`);
      } catch (error) {
        problems.push(String(error));
      }
    }
  })();
  return {
    runs: () => count,
    async stop(): Promise<readonly string[]> {
      isOver = true;
      await running;
      return problems;
    },
  };
}
