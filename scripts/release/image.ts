import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assemble } from "../../deploy/image/assemble.ts";
import { PARTS, type Part } from "../../deploy/image/parts.ts";
import { platformTool, TOOL_FILES, TOOL_PLACES } from "../../deploy/image/platform-tool.ts";
import { type Entry, entriesBelow, gzipped, tarOf } from "./archive.ts";
import { type Making, ROOT } from "./making.ts";
import { type Artifact, type ImageConfig, imageArtifact } from "./oci.ts";
import { imageSbom } from "./sboms.ts";
import { ARCHITECTURES, type Architecture, type SystemPins, systemPins } from "./system-pins.ts";
import { systemTree } from "./system-tree.ts";

export interface ReleasedImage {
  readonly artifact: Artifact;
  readonly sboms: Readonly<Record<Architecture, string>>;
}

/** Of all parts, which differ above it: 125 MB take a quarter of a minute to pack. */
export type SystemLayers = Partial<Record<Architecture, Uint8Array>>;

/**
 * The image of one part for all architectures: the files and the start of deploy/image/Dockerfile, without docker.
 *
 * @param systemLayers those that another part has packed; the others are added
 */
export async function releasedImage(part: Part, systemLayers: SystemLayers, making: Making): Promise<ReleasedImage> {
  const { at, version, revision, say, signal } = making;
  const pins = systemPins();
  const app = await appOf(part, at);
  const config = startOf(readFileSync(join(ROOT, "deploy/image/Dockerfile"), "utf8"), { version, revision });
  const images = [];
  const sboms: Partial<Record<Architecture, string>> = {};
  for (const architecture of ARCHITECTURES) {
    const system = await systemTree(architecture, pins, say, signal);
    const tool = part === "platform" ? await toolFor(architecture, making) : { entries: [], modules: "" };
    const beside = copied(pins, architecture) + tool.modules;
    const sbom = await imageSbom(`sallyport-${part}`, PARTS[part], beside, making);
    sboms[architecture] = sbom;
    const papers = [
      { path: "app/sbom.cdx.json", content: Buffer.from(sbom) },
      { path: "app/revision", content: Buffer.from(`${revision}\n`) },
    ];
    systemLayers[architecture] ??= gzipped(await tarOf(entriesBelow(system), at));
    const layers = [systemLayers[architecture], gzipped(await tarOf([...app, ...tool.entries, ...papers], at))];
    images.push({ architecture, config, layers });
  }
  return { artifact: imageArtifact(images, at), sboms: sboms as Record<Architecture, string> };
}

/** The program with which the platform makes operators' images, and its papers. */
async function toolFor(architecture: Architecture, { say, signal }: Making) {
  const folder = await platformTool(architecture, say, signal);
  const read = (name: string): Buffer => readFileSync(join(folder, name));
  const entries: readonly Entry[] = [
    { path: TOOL_PLACES.program, content: read(TOOL_FILES.program), isExecutable: true },
    { path: TOOL_PLACES.terms, content: read(TOOL_FILES.terms) },
  ];
  return { entries, modules: read(TOOL_FILES.modules).toString() };
}

async function appOf(part: Part, at: number): Promise<readonly Entry[]> {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-image-"));
  try {
    await assemble(ROOT, join(folder, "app"), part, at);
    return entriesBelow(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** As system.ts says it: a line each of name, version and architecture. */
function copied({ node, debian }: SystemPins, architecture: Architecture): string {
  const lines = debian.packages.map(({ name, version }) => `${name} ${version} ${architecture}\n`);
  return [`node ${node.version} ${architecture}\n`, ...lines].join("");
}

/** How the image starts, from the last stage of the Dockerfile, so that both ways to build give the same. */
export function startOf(
  dockerfile: string,
  { version, revision }: { readonly version: string; readonly revision: string },
): ImageConfig {
  const joined = dockerfile.replaceAll(/\\\n\s*/g, "");
  const lines = joined.slice(joined.lastIndexOf("\nFROM ") + 1).split("\n");
  const wordsOf = (instruction: string): string => {
    const [line, ...more] = lines.filter((each) => each.startsWith(`${instruction} `));
    if (line === undefined || more.length > 0) throw new Error(`the Dockerfile's last stage needs one ${instruction}`);
    return line.slice(instruction.length + 1);
  };
  const values: Readonly<Record<string, string>> = { VERSION: version, REVISION: revision };
  const labels = wordsOf("LABEL").matchAll(/(\S+?)="([^"]*)"/g);
  return {
    User: wordsOf("USER"),
    Env: [wordsOf("ENV")],
    Entrypoint: JSON.parse(wordsOf("ENTRYPOINT")),
    Cmd: JSON.parse(wordsOf("CMD")),
    WorkingDir: wordsOf("WORKDIR"),
    Labels: Object.fromEntries(
      [...labels].map(([, name, value = ""]) => [name, value.replace(/\$\{(\w+)\}/g, (_, key) => values[key] ?? "")]),
    ),
  };
}
