import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { buildPackage } from "../packages/build-package.ts";
import { folderOf, PACKAGES, type Package, PROGRAM } from "../packages/package-table.ts";
import { releasedChart } from "./chart.ts";
import { releasedImage, type SystemLayers } from "./image.ts";
import { releasedPlugin } from "./krew.ts";
import { type Made, type Making, ROOT } from "./making.ts";
import { releasedPackage } from "./npm-packages.ts";
import { ociArchive } from "./oci.ts";
import { changelogOf, checksums, GO_SUM, releaseProvenance } from "./papers.ts";
import { ARCHITECTURES, systemPins } from "./system-pins.ts";

export const RELEASE_PARTS = ["npm", "krew", "chart", "images"] as const;
export type ReleasePart = (typeof RELEASE_PARTS)[number];

export interface ReleaseOptions {
  readonly parts: readonly ReleasePart[];
  readonly isDirty: boolean;
  /** @default all */
  readonly packages?: readonly Package[];
}

/** Names of the images, as the chart's values have them. */
const IMAGE_NAMES = { cluster: "sallyport", platform: "platform" } as const;

/** Writes a release into a folder: its parts, and the papers of what is there. The same commit gives the same bytes. */
export async function makeRelease(out: string, options: ReleaseOptions, making: Making): Promise<void> {
  const files: (readonly [path: string, content: Uint8Array | string])[] = [];
  for (const part of options.parts) {
    const startedAt = performance.now();
    making.say(`${part}: making`);
    const made = await MAKERS[part](making, options);
    for (const [path, content] of made) write(out, path, content);
    files.push(...made);
    making.say(`${part}: ${made.length} files, ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
  }
  files.push(["CHANGELOG.md", changelogOf(making.version)]);
  const statement = releaseProvenance(files, {
    version: making.version,
    revision: making.revision,
    isDirty: options.isDirty,
    lock: readFileSync(join(ROOT, "package-lock.json")),
    pins: options.parts.includes("images") ? systemPins() : undefined,
    modules: readFileSync(join(ROOT, GO_SUM)),
  });
  files.push(["provenance.json", `${JSON.stringify(statement, null, 2)}\n`]);
  for (const [path, content] of [...files, ["SHA256SUMS", checksums(files)] as const]) write(out, path, content);
}

const MAKERS: Readonly<Record<ReleasePart, (making: Making, options: ReleaseOptions) => Promise<Made>>> = {
  npm: (making, { packages = PACKAGES }) =>
    inFolder(async (dist) => {
      const made = [];
      for (const each of packages) {
        making.say(`npm: ${each.name}`);
        made.push(...(await releasedPackage(each, join(dist, folderOf(each.name)), making)));
      }
      return made;
    }),
  krew: (making) => inFolder(async (dist) => releasedPlugin(await buildPackage(PROGRAM, dist), making)),
  chart: releasedChart,
  images: async (making) => {
    const made: (readonly [string, Uint8Array | string])[] = [];
    const systemLayers: SystemLayers = {};
    let digests = "";
    for (const part of ["cluster", "platform"] as const) {
      const { artifact, sboms } = await releasedImage(part, systemLayers, making);
      const name = `images/${IMAGE_NAMES[part]}-${making.version}`;
      made.push([`${name}.oci.tar`, await ociArchive(artifact, making.version)]);
      for (const each of ARCHITECTURES) made.push([`${name}-${each}.cdx.json`, sboms[each]]);
      digests += `${IMAGE_NAMES[part]}:${making.version} ${artifact.root.digest}\n`;
    }
    // What `image.digest` of the chart pins, once the image is in a registry.
    return [...made, ["images/digests.txt", digests]];
  },
};

async function inFolder(work: (folder: string) => Promise<Made>): Promise<Made> {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-release-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function write(out: string, path: string, content: Uint8Array | string): void {
  const file = join(out, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}
