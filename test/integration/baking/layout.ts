import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { gzipped, tarOf } from "../../../scripts/release/archive.ts";
import { type Descriptor, indexArtifact, layoutOf, storedImage } from "../../../scripts/release/oci.ts";

const AT = Date.parse("2026-01-02T03:04:05Z") / 1_000;
const CONFIG = {
  ...{
    User: "65532:65532",
    Env: [],
    Entrypoint: ["/app/node", "/app/main.js"],
    Cmd: [],
    WorkingDir: "/app",
    Labels: {},
  },
};

/** A tiny operator image as an OCI layout: for each architecture one layer with one file, and a builder's note on it. */
export async function writeLayout(folder: string, architectures: readonly string[]): Promise<string> {
  const blobs = new Map<string, Uint8Array>();
  const image = async (architecture: string): Promise<Descriptor> => {
    const layer = gzipped(await tarOf([{ path: "app/main.js", content: Buffer.from(`// ${architecture}\n`) }], AT));
    return storedImage(blobs, { architecture, config: CONFIG, layers: [layer] }, AT);
  };
  const manifests: Descriptor[] = [];
  for (const architecture of architectures) {
    const manifest = await image(architecture);
    const annotations = { "vnd.docker.reference.digest": manifest.digest };
    const platform = { os: "unknown", architecture: "unknown" };
    manifests.push(manifest, { ...(await image("unknown")), annotations, platform });
  }
  for (const entry of layoutOf(indexArtifact(manifests, blobs), "base")) {
    const file = join(folder, entry.path);
    await mkdir(dirname(file), { recursive: true });
    if ("content" in entry) await writeFile(file, entry.content);
  }
  return folder;
}
