import { readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { SHOP } from "../world/people.ts";
import { eventually } from "../world/wait.ts";
import { soon, useCast } from "./cast.ts";
import { runtimeKeySecret } from "./installation.ts";
import { apply } from "./kubectl.ts";

const cast = useCast();

// That no request fails meanwhile is in test/integration/agent/key-rotation.test.ts. Here the kubelet brings the key.

test("a key that the Secret gets is taken up in the same pod, and the old one can go", async () => {
  const { scene, vendorAdmin } = cast();
  const { managerId, keyFiles } = scene.vendor;
  const [before] = await cast().pods("agent");

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

  const { state, error } = await cast().look("get-pods", { namespace: SHOP });
  expect(state, JSON.stringify(error)).toBe("SUCCEEDED");
  const [after] = await cast().pods("agent");
  expect(after?.metadata.uid).toBe(before?.metadata.uid);
  expect(after?.status?.containerStatuses?.[0]?.restartCount).toBe(0);
}, 400_000);
