import { expect, it } from "vitest";
import { onEachDatabase } from "../../testing/harness.ts";
import { newSite } from "../deployments/testing/site.ts";

onEachDatabase("the page of a deployment link", (world) => {
  it("says how the link's token is used, and the token is", async () => {
    const site = await newSite(world);
    const policy = { allowedPlatforms: ["kubernetes"], allowedSetupMethods: ["helm"] };
    const body = { deploymentSetupConfig: { metadata: {}, policy, environmentVariables: [] } };
    const made = (await site.call("POST", `/v1/deployment-groups/${site.group.id}/tokens`, { body })).body;
    const opened = await fetch(made.deploymentLink);
    const text = await opened.text();
    expect([opened.status, opened.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(opened.headers.get("content-security-policy")).toContain("default-src 'none'");
    const [command = "", url = ""] = /curl -H "[^"]*" ([^<]+)</.exec(text) ?? [];
    expect(command).toContain("Bearer $TOKEN");
    const headers = { authorization: `Bearer ${new URL(made.deploymentLink).hash.replace("#token=", "")}` };
    const info = (await (await fetch(url, { headers })).json()) as { readonly tokenType: string };
    expect(info.tokenType).toBe("deployment-group");
    expect((await fetch(new URL("/docs", made.deploymentLink))).status).toBe(200);
  });
});
