import { expect, it } from "vitest";
import { onEachDatabase, type World } from "../../testing/harness.ts";
import { newSite } from "../deployments/testing/site.ts";

/** The claims as the manager reads them. */
function claimsOf(token: string): { readonly iat: number; readonly exp: number } {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
}

onEachDatabase("a token for a manager's own API", (world: World) => {
  it("ends after 15 minutes, and at the latest with the key that asked for it", async () => {
    const site = await newSite(world);
    const ask = (key: string) =>
      world.call("POST", `/v1/managers/${site.manager.id}/token`, { key, body: { project: site.project.name } });
    for (const [lives, seconds] of [
      [undefined, 900],
      [3600, 900],
      [59, 59],
    ] as const) {
      const expiresAt = lives === undefined ? null : new Date(world.clock.wallNow().getTime() + lives * 1000);
      const { key } = await world.platform.bootstrap.key({
        workspaceId: site.workspace.id,
        role: "project.developer",
        scope: { type: "project", projectId: site.project.id },
        expiresAt,
      });
      const { status, body } = await ask(key);
      expect(status, JSON.stringify(body)).toBe(200);
      const { iat, exp } = claimsOf(body.accessToken);
      expect(exp - iat).toBe(body.expiresIn);
      expect(body.expiresIn).toBeLessThanOrEqual(seconds);
      expect(body.expiresIn).toBeGreaterThan(seconds - 30);
      if (expiresAt !== null) expect(exp * 1000).toBeLessThanOrEqual(expiresAt.getTime());
    }
  });
});
