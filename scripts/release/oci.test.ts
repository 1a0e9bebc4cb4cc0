import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { extract } from "tar-stream";
import { expect, test } from "vitest";
import { type Entry, gzipped, tarOf } from "./archive.ts";
import { startOf } from "./image.ts";
import { ROOT } from "./making.ts";
import { type Artifact, chartArtifact, imageArtifact, layoutOf } from "./oci.ts";

const AT = 1_700_000_000;

async function namesAndModes(tar: Buffer): Promise<readonly string[]> {
  const found: string[] = [];
  const reader = extract();
  reader.end(tar);
  for await (const entry of reader) {
    const { name, mode, type, linkname, mtime } = entry.header;
    found.push(`${name} ${type} ${(mode ?? 0).toString(8)}${linkname ? ` ${linkname}` : ""} ${Number(mtime) / 1_000}`);
    entry.resume();
  }
  return found;
}

test("an archive has its folders before its files, sorted, whatever the order in which they were found", async () => {
  const entries: readonly Entry[] = [
    { path: "b/two", content: Buffer.from("2"), isExecutable: true },
    { path: "b/a/one", content: Buffer.from("1") },
    { path: "link", link: "b/two" },
  ];
  const tar = await tarOf(entries, AT);
  expect(await tarOf(entries.toReversed(), AT)).toEqual(tar);
  expect(gzipped(tar)).toEqual(gzipped(tar));
  expect(await namesAndModes(tar)).toEqual([
    `b/ directory 755 ${AT}`,
    `b/a/ directory 755 ${AT}`,
    `b/a/one file 644 ${AT}`,
    `b/two file 755 ${AT}`,
    `link symlink 777 b/two ${AT}`,
  ]);
});

/** Follows every descriptor of a layout, as a registry does, and checks its digest and size. */
function followed(artifact: Artifact): readonly Readonly<Record<string, unknown>>[] {
  const files = new Map(layoutOf(artifact, "1.2.3").map((each) => [each.path, "content" in each ? each.content : ""]));
  const documents: Record<string, unknown>[] = [];
  const seen = new Set(["oci-layout", "index.json"]);
  const follow = (value: unknown): void => {
    if (Array.isArray(value)) {
      for (const each of value) follow(each);
      return;
    }
    if (typeof value !== "object" || value === null) return;
    if ("digest" in value && "mediaType" in value && "size" in value) {
      const path = `blobs/${String(value.digest).replace(":", "/")}`;
      const bytes = Buffer.from(files.get(path) ?? "");
      seen.add(path);
      expect(bytes).toHaveLength(Number(value.size));
      expect(`sha256:${createHash("sha256").update(bytes).digest("hex")}`).toBe(value.digest);
      if (!String(value.mediaType).endsWith("+json")) return;
      const document = JSON.parse(bytes.toString());
      documents.push(document);
      follow(document);
    }
    for (const field of Object.values(value)) follow(field);
  };
  follow(JSON.parse(String(files.get("index.json"))));
  expect([...files.keys()].sort()).toEqual([...seen].sort());
  return documents;
}

const DOCKERFILE = readFileSync(join(ROOT, "deploy/image/Dockerfile"), "utf8");

test("an image names each of its blobs by digest and size, for both architectures, and starts as the Dockerfile says", async () => {
  const config = startOf(DOCKERFILE, { version: "1.2.3", revision: "abc" });
  expect(config).toMatchObject({
    User: "65532:65532",
    Env: ["NODE_ENV=production"],
    Entrypoint: ["/app/node", "/app/main.js"],
    Cmd: ["help"],
    WorkingDir: "/app",
    Labels: { "org.opencontainers.image.version": "1.2.3", "org.opencontainers.image.revision": "abc" },
  });
  const layer = gzipped(await tarOf([{ path: "app/node", content: Buffer.from("x") }], AT));
  const images = (["amd64", "arm64"] as const).map((architecture) => ({ architecture, config, layers: [layer] }));
  const artifact = imageArtifact(images, AT);
  const [index, ...others] = followed(artifact);
  expect(index?.manifests).toMatchObject([
    { platform: { architecture: "amd64", os: "linux" } },
    { platform: { architecture: "arm64", os: "linux" } },
  ]);
  const settings = others.filter((each) => "rootfs" in each);
  const diff = `sha256:${createHash("sha256").update(gunzipSync(layer)).digest("hex")}`;
  expect(settings).toMatchObject([
    { architecture: "amd64", rootfs: { diff_ids: [diff] } },
    { architecture: "arm64", rootfs: { diff_ids: [diff] } },
  ]);
  expect(imageArtifact(images, AT).root).toEqual(artifact.root);
});

test("a chart is an artifact of the types that helm pulls", () => {
  const [manifest, about] = followed(chartArtifact(Buffer.from("chart"), { name: "sallyport", version: "1.2.3" }));
  expect(manifest).toMatchObject({
    config: { mediaType: "application/vnd.cncf.helm.config.v1+json" },
    layers: [{ mediaType: "application/vnd.cncf.helm.chart.content.v1.tar+gzip" }],
  });
  expect(about).toEqual({ name: "sallyport", version: "1.2.3" });
});
