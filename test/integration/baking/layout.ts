import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { tarOf } from "../../../src/platform/kernel/tar.ts";

const OCI = "application/vnd.oci.image";

/** A tiny operator image as an OCI layout: for each architecture one layer with one file, and a builder's note on it. */
export async function writeLayout(folder: string, architectures: readonly string[]): Promise<string> {
  const blobs = join(folder, "blobs/sha256");
  await mkdir(blobs, { recursive: true });
  const put = async (content: Buffer | object, mediaType: string) => {
    const bytes = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content));
    const hex = createHash("sha256").update(bytes).digest("hex");
    await writeFile(join(blobs, hex), bytes);
    return { mediaType, digest: `sha256:${hex}`, size: bytes.length };
  };
  const image = async (architecture: string) => {
    const tar = await tarOf([{ name: "app/main.js", content: Buffer.from(`// ${architecture}\n`) }]);
    const layer = await put(gzipSync(tar), `${OCI}.layer.v1.tar+gzip`);
    const created = "2026-01-02T03:04:05Z";
    const config = await put(
      {
        created,
        architecture,
        os: "linux",
        config: { User: "65532:65532", Entrypoint: ["/app/node", "/app/main.js"] },
        rootfs: { type: "layers", diff_ids: [`sha256:${createHash("sha256").update(tar).digest("hex")}`] },
        history: [{ created, created_by: "test" }],
      },
      `${OCI}.config.v1+json`,
    );
    const mediaType = `${OCI}.manifest.v1+json`;
    return put({ schemaVersion: 2, mediaType, config, layers: [layer] }, mediaType);
  };
  const manifests: object[] = [];
  for (const architecture of architectures) {
    const manifest = await image(architecture);
    manifests.push({ ...manifest, platform: { os: "linux", architecture } });
    const annotations = { "vnd.docker.reference.digest": manifest.digest };
    manifests.push({ ...(await image("unknown")), annotations, platform: { os: "unknown", architecture: "unknown" } });
  }
  const mediaType = `${OCI}.index.v1+json`;
  const index = await put({ schemaVersion: 2, mediaType, manifests }, mediaType);
  await writeFile(join(folder, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  await writeFile(join(folder, "index.json"), JSON.stringify({ schemaVersion: 2, mediaType, manifests: [index] }));
  return folder;
}
