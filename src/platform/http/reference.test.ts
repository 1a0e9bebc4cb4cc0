import { afterAll, beforeAll, expect, it } from "vitest";
import { openApi } from "../../contract/openapi/openapi.ts";
import { ROUTES } from "../../contract/table.ts";
import { type RunningPlatform, startPlatform } from "../server.ts";
import { inMemory } from "../testing/empty-database.ts";

let platform: RunningPlatform;
beforeAll(async () => {
  platform = await startPlatform({ database: await inMemory() });
});
afterAll(() => platform.close());

const get = (path: string) => fetch(new URL(path, platform.url), { redirect: "manual" });

it("serves the document without a credential, with its own address", async () => {
  const answer = await get("/v1/openapi.json");
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(answer.headers.get("x-request-id")).toBeTruthy();
  expect(await answer.json()).toEqual(JSON.parse(JSON.stringify(openApi(ROUTES, platform.url))));
});

it("shows the document in a browser with nothing from elsewhere", async () => {
  const page = await get("/docs");
  expect(page.status).toBe(200);
  const policy = page.headers.get("content-security-policy") ?? "";
  expect(policy).toMatch(/^default-src 'none'; script-src 'self';/);
  expect(policy).not.toMatch(/https?:|\*|unsafe-eval|script-src[^;]*unsafe-inline/);
  const html = await page.text();
  expect(html).not.toMatch(/https?:|<script>|\son\w+=/);
  const links = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link ?? "");
  expect(links).toHaveLength(5);
  for (const link of links) {
    const file = await get(`/${link}`);
    expect(file.status, link).toBe(200);
    expect(file.headers.get("x-content-type-options")).toBe("nosniff");
    expect((await file.arrayBuffer()).byteLength, link).toBeGreaterThan(100);
  }
});

it("leads to the page from its address with a slash", async () => {
  const answer = await get("/docs/");
  expect([answer.status, answer.headers.get("location")]).toEqual([308, "../docs"]);
});

it("gives out no other file of the viewer's folder", async () => {
  for (const path of ["/docs/index.html", "/docs/../package.json", "/docs/%2e%2e/package.json", "/docs/csp.json"]) {
    expect((await get(path)).status, path).toBe(404);
  }
});

it("knows the paths beside the table, also when the method is wrong", async () => {
  for (const [path, allow] of [
    ["/v1/openapi.json", "GET"],
    ["/livez", "GET, HEAD"],
    ["/readyz", "GET, HEAD"],
  ] as const) {
    const answer = await fetch(new URL(path, platform.url), { method: "POST" });
    expect([answer.status, answer.headers.get("allow")], path).toEqual([405, allow]);
  }
});

it("limits who asks for the document again and again", async () => {
  const answers = await Promise.all(Array.from({ length: 40 }, () => get("/v1/openapi.json")));
  const refused = answers.find(({ status }) => status === 429);
  expect(refused?.headers.get("retry-after")).toMatch(/^\d+$/);
});
