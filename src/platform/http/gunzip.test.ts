import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { createClient } from "../../api-client/client.ts";
import { newSite } from "../areas/deployments/testing/site.ts";
import { onEachDatabase } from "../testing/harness.ts";

onEachDatabase("a compressed body", (world) => {
  const reconcile = async (body: Buffer, key: string, path = "reconcile") => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", "content-encoding": "gzip" };
    const answer = await fetch(`${world.platform.url}/v1/sync/${path}`, { method: "POST", headers, body });
    return { status: answer.status, code: ((await answer.json()) as { code?: string }).code };
  };
  const reportOf = (deploymentId: string, more: object = {}) => ({
    deploymentId,
    state: { status: "running", platform: "kubernetes", protocolVersion: 1 } as const,
    ...more,
  });

  it("is read as if it had come plain, where the route takes it", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const client = createClient({ baseUrl: world.platform.url, credential: site.manager.key });
    const row = (index: number) => ({
      ...{ rawIdentity: `r-${index}`, providerKind: "Pod", displayName: `r-${index}`, health: "healthy" as const },
      ...{ lifecycle: "running" as const, partial: false, providerStale: false },
    });
    const batch = {
      ...{ sourceKind: "operator" as const, inventoryScope: "pods", controllerPlatform: "kubernetes" as const },
      ...{ backend: "kubernetes" as const, observedAt: world.clock.wallNow().toISOString(), complete: true },
      resources: Array.from({ length: 20 }, (_, index) => row(index)),
    };
    const body = reportOf(id, { observedInventoryBatches: Array.from({ length: 5 }, () => batch) });
    expect(JSON.stringify(body).length).toBeGreaterThan(8_192);
    await client.sync.reconcile({ body }, new AbortController().signal);
    await client.close();
    const { resources } = (await site.call("GET", "/v1/resources", { query: { project: site.project.name } })).body;
    expect(resources).toHaveLength(20);
  });

  it("that inflates beyond the limit, is broken, or is not taken there is refused", async () => {
    const site = await newSite(world);
    const id = await site.deploy("shop");
    const text = JSON.stringify(reportOf(id));
    const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024, " "));
    expect(bomb.length).toBeLessThan(1024 * 1024);
    expect(await reconcile(bomb, site.manager.key)).toEqual({ status: 413, code: "PAYLOAD_TOO_LARGE" });
    expect(await reconcile(Buffer.from(text), site.manager.key)).toEqual({ status: 400, code: "MALFORMED_JSON" });
    const half = gzipSync(text).subarray(0, 40);
    expect(await reconcile(half, site.manager.key)).toEqual({ status: 400, code: "MALFORMED_JSON" });
    const elsewhere = await reconcile(gzipSync("{}"), site.manager.key, "list");
    expect(elsewhere).toEqual({ status: 415, code: "UNSUPPORTED_MEDIA_TYPE" });
    expect(await reconcile(gzipSync(text), site.manager.key)).toEqual({ status: 200, code: undefined });
  });
});
