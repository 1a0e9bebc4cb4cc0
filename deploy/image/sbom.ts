import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { contentsOf, isPart, nameAndVersion, PARTS } from "./parts.ts";

export interface Component {
  readonly "bom-ref": string;
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly cpe?: string;
}

export interface Sbom {
  readonly serialNumber: string;
  readonly metadata: { readonly timestamp: string; readonly component: object };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/**
 * What one image holds: of npm's CycloneDX document for all packages those in the image, and what npm does not know:
 * Node.js and the system's libraries, for which scanners look too. The same image gives the same document.
 *
 * @param all of `npm sbom` without `--omit=dev`, which leaves out packages that development needs too
 * @param system what system.ts and platform-tool.ts say was copied, a line each: name, version, architecture. Empty with a base image that
 *   has a system of its own, whose SBOM then names Node.js and the libraries
 * @param at seconds since 1970
 */
export function sbomOf(all: Sbom, name: string, packages: ReadonlySet<string>, system: string, at: number): Sbom {
  const [root = ""] = all.dependencies.map(({ ref }) => ref);
  const isHere = (ref: string): boolean => packages.has(ref);
  const beside = system.split("\n").filter(Boolean).map(systemComponent);
  const dependencies = all.dependencies
    .filter(({ ref }) => ref === root || isHere(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(isHere) }));
  const missing = [...packages].filter((ref) => !all.components.some((component) => component["bom-ref"] === ref));
  if (missing.length > 0) throw new Error(`npm's document lacks ${missing.join(", ")}`);
  const components = [...all.components.filter((component) => isHere(component["bom-ref"])), ...beside];
  const seed = createHash("sha256")
    .update(JSON.stringify([name, at, components]))
    .digest("hex");
  return {
    ...all,
    serialNumber: `urn:uuid:${seed.slice(0, 8)}-${seed.slice(8, 12)}-5${seed.slice(13, 16)}-a${seed.slice(17, 20)}-${seed.slice(20, 32)}`,
    metadata: {
      ...all.metadata,
      timestamp: new Date(at * 1000).toISOString(),
      component: { ...all.metadata.component, type: "container", name },
    },
    components,
    dependencies,
  };
}

function nodeComponent(version: string): Component {
  return {
    "bom-ref": `node@${version}`,
    type: "platform",
    name: "node",
    version,
    purl: `pkg:generic/node@${version}`,
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
  };
}

const GO_MODULE = "golang:";

/** Linked into plugin-layer. */
function moduleComponent(name: string, version: string): Component {
  const purl = `pkg:golang/${name}@${encodeURIComponent(version)}`;
  return { "bom-ref": purl, type: "library", name, version, purl };
}

function systemComponent(line: string): Component {
  const [name = "", version = "", arch = ""] = line.split(" ");
  if (name === "node") return nodeComponent(version);
  if (name.startsWith(GO_MODULE)) return moduleComponent(name.slice(GO_MODULE.length), version);
  const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${arch}`;
  return { "bom-ref": purl, type: "library", name, version, purl };
}

if (import.meta.main) {
  const [part = "", npm = "", system = "", out = "", at = "0"] = process.argv.slice(2);
  if (!isPart(part))
    throw new Error("usage: node deploy/image/sbom.ts cluster|platform NPMS-FILE SYSTEMS-FILE OUT [SECONDS]");
  const root = join(import.meta.dirname, "../..");
  const packages = nameAndVersion(root, contentsOf(root, [PARTS[part]]).packages);
  const all: Sbom = JSON.parse(readFileSync(npm, "utf8"));
  const sbom = sbomOf(all, `sallyport-${part}`, packages, readFileSync(system, "utf8"), Number(at));
  writeFileSync(out, `${JSON.stringify(sbom, null, 2)}\n`);
}
