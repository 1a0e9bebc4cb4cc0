import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { zip } from "../../../areas/operations/testing/zip.ts";
import type { BuildSite } from "../../../areas/packages/testing/builds.ts";

/** The project's setting that its operator's image is wanted. */
export const OPERATOR_IMAGE = { operatorImage: { enabled: true, name: "shop-operator", displayName: "Shop" } };
export const RULES = [{ apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "patch"] }];
export const MODULE = "export default {};\n";

/** `metadata.json` of a plugin with one operation. */
export function metadataOf(name: string, version = "1.0.0") {
  return {
    name,
    version,
    tier: "mutating",
    module: "plugin.mjs",
    operations: [
      {
        name: "reindex",
        description: "Rebuilds the search index.",
        paramsSchema: { type: "object", required: ["namespace"], properties: { namespace: { type: "string" } } },
        rules: RULES,
        timeLimitSeconds: 60,
        result: { generation: "the generation after the change" },
      },
    ],
  };
}

export function bundleOf(metadata: object, module: string | Uint8Array = MODULE): Uint8Array<ArrayBuffer> {
  const entries = [
    { name: "metadata.json", content: JSON.stringify(metadata) },
    { name: "plugin.mjs", content: module },
  ];
  return new Uint8Array(zip(entries));
}

/** Uploads a bundle and registers its plugin, as an engineer does. */
export async function register(
  site: BuildSite,
  { name, version }: { readonly name: string; readonly version: string },
  bundle: Uint8Array<ArrayBuffer>,
): Promise<void> {
  const query = { project: site.project.name };
  const asked = await site.call("POST", "/v1/operations/plugins/upload-url", { query, body: { name } });
  const { uploadUrl, contentType } = asked.body;
  await fetch(uploadUrl, { method: "PUT", headers: { "content-type": contentType }, body: bundle });
  const body = { name, version, tier: "mutating" };
  const answer = await site.call("POST", "/v1/operations/plugins", { query, body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
}

export async function enable(site: BuildSite, name: string, enabled: boolean): Promise<void> {
  const query = { project: site.project.name };
  const answer = await site.call("PATCH", `/v1/operations/plugins/${name}/enabled`, { query, body: { enabled } });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
}

/** A layout that names one image, of which nothing but the name is read here. */
export function writeBase(folder: string, digest = `sha256:${"b".repeat(64)}`): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "index.json"), JSON.stringify({ schemaVersion: 2, manifests: [{ digest }] }));
  writeFileSync(join(folder, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  return folder;
}

/**
 * A stand-in for plugin-layer where no Go is needed: its image is the layer, and has the layer's digest. It leaves its
 * process id and its environment in `folder`. While `folder/held` is there it does not end.
 */
export function writeTool(folder: string): string {
  const tool = join(folder, "tool");
  const script = `#!/bin/sh
env > ${folder}/env
echo $$ > ${folder}/pid
[ "$1" = append ] || exit 1
[ ! -e ${folder}/held ] || exec sleep 600
mkdir -p "$4" && cp "$3" "$4/layer" || exit 1
echo sha256:$(sha256sum < "$3" | cut -c 1-64)
`;
  writeFileSync(tool, script, { mode: 0o755 });
  return tool;
}
