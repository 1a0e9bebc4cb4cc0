import { expect, it } from "vitest";
import { onEachDatabase } from "./testing/harness.ts";

onEachDatabase("the platform", (world) => {
  it("tells a key who it is", async () => {
    const { id, name, key } = await world.workspace();
    const answer = await world.call("GET", "/v1/whoami", { key: await key("workspace.viewer") });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    expect(answer.body).toMatchObject({ kind: "serviceAccount", workspaceId: id, workspaceName: name });
  });

  it("mints a key that works until it is revoked", async () => {
    const { key } = await world.workspace();
    const admin = await key("workspace.admin");
    const body = { description: "for CI", scope: { type: "workspace", role: "workspace.viewer" } };
    const minted = await world.call("POST", "/v1/api-keys", { key: admin, body });
    expect(minted.status, JSON.stringify(minted.body)).toBe(201);
    const { apiKey, keyInfo } = minted.body;
    expect((await world.call("GET", "/v1/whoami", { key: apiKey })).status).toBe(200);
    expect((await world.call("DELETE", `/v1/api-keys/${keyInfo.id}`, { key: admin })).status).toBe(204);
    const refused = await world.call("GET", "/v1/whoami", { key: apiKey });
    expect([refused.status, refused.body.code]).toEqual([401, "API_KEY_REVOKED"]);
  });
});
