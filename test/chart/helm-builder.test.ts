import { createHash } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { until } from "../../src/base/testing/until.ts";
import { STACK } from "../../src/platform/areas/releases/testing/releases.ts";
import type { RunningPlatform } from "../../src/platform/server.ts";
import { type Answer, call } from "../../src/platform/testing/harness.ts";
import { newWorkspace, startPlatformInMemory } from "../world/platform.ts";
import { useHelm } from "./use-helm.ts";

const FILES = {
  "values.yaml": "replicas: 2\n",
  "templates/_helpers.tpl": '{{- define "shop.name" -}}shop{{- end -}}\n',
  "templates/web.yaml": [
    "apiVersion: apps/v1",
    "kind: Deployment",
    'metadata: {name: {{ include "shop.name" . }}, labels: {app: shop}}',
    "spec:",
    "  replicas: {{ .Values.replicas }}",
    "  selector: {matchLabels: {app: shop}}",
    "  template:",
    "    metadata: {labels: {app: shop}}",
    "    spec: {containers: [{name: web, image: example.com/web:1}]}",
    "",
  ].join("\n"),
  ".helmignore": "*.bak\n",
};

const folder = mkdtempSync(join(tmpdir(), "sallyport-built-chart-"));
const helm = useHelm();
let platform: RunningPlatform | undefined;
afterAll(async () => {
  await platform?.close();
  await rm(folder, { recursive: true, force: true });
});

it("helm takes the chart of a promoted release from the portal's own words, and installs it dry", async () => {
  platform = await startPlatformInMemory(folder);
  const { url } = platform;
  const { key } = await newWorkspace(platform);
  const ask = async (method: string, path: string, body?: object): Promise<Answer["body"]> => {
    const answer = await call(url, method, path, { key, ...(body && { body }) });
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
    return answer.body;
  };
  const packagesConfig = { helm: { enabled: true, chartName: "shop", description: "The shop" } };
  await ask("POST", "/v1/projects", { name: "shop", packagesConfig });
  const chart = { files: FILES, metadata: { home: "https://example.com", kubeVersion: ">=1.30.0-0" } };
  await ask("POST", "/v1/releases", { project: "shop", version: "7.1.0", stack: { kubernetes: { ...STACK, chart } } });
  const built = await until(async (): Promise<Answer["body"]> => {
    const [found] = (await ask("GET", "/v1/packages")).items;
    return ["pending", "building"].includes(found.status) ? undefined : found;
  });
  expect(built).toMatchObject({ status: "ready", version: "1.0.0", retries: 0, error: null });

  const group = await ask("POST", "/v1/deployment-groups", { name: "customer", project: "shop" });
  const policy = { allowedPlatforms: ["kubernetes"], allowedSetupMethods: ["helm"] };
  const config = { metadata: {}, policy, environmentVariables: [] };
  const { token } = await ask("POST", `/v1/deployment-groups/${group.id}/tokens`, { deploymentSetupConfig: config });
  const { packages } = (await call(url, "GET", "/v1/deployment-info", { key: token })).body;
  expect(packages).toMatchObject({ ready: true, helm: { status: "ready", chartRef: built.outputs.chart } });

  const { chartRef, version } = packages.helm;
  const run = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await helm.run(args);
    expect(code, stderr).toBe(0);
    return stdout;
  };
  await run("pull", chartRef, "--version", version, "--destination", folder);
  const file = join(folder, "shop-1.0.0.tgz");
  expect(await run("lint", "--strict", file)).toContain("0 chart(s) failed");
  expect(await run("show", "chart", file)).toMatch(/appVersion: 7\.1\.0[\s\S]*home: https:\/\/example\.com/);
  const rendered = await run("template", "mine", chartRef, "--version", version, "--set", "replicas=5");
  expect(rendered).toContain("replicas: 5");
  expect(await run("install", "mine", file, "--dry-run=client")).toContain("STATUS: pending-install");

  const [fetched, link] = [await readFile(file), await fetch(chartRef, { redirect: "manual" })];
  expect(link.status).toBe(302);
  const direct = Buffer.from(await (await fetch(chartRef)).arrayBuffer());
  expect(createHash("sha256").update(direct).digest()).toEqual(createHash("sha256").update(fetched).digest());
  const forged = await fetch(chartRef.replace("shop-1.0.0", "shop-1.0.1"), { redirect: "manual" });
  expect(forged.status).toBe(404);
});
