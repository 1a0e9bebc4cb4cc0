import { contentsOf, nameAndVersion } from "../../deploy/image/parts.ts";
import { type Sbom, sbomOf } from "../../deploy/image/sbom.ts";
import { command } from "../../test/e2e/command.ts";
import { type Making, ROOT } from "./making.ts";

let allPackages: Promise<Sbom> | undefined;

/** A CycloneDX document of an image. @param system what it holds beside packages, as system.ts says it */
export async function imageSbom(name: string, entry: string, system: string, making: Making): Promise<string> {
  return textOf(sbomOf(await all(making), name, packagesOf([entry]), system, making.at));
}

/** A CycloneDX document of a package of ours: what it holds or asks for, at the versions that were tested. */
export async function packageSbom(name: string, entries: readonly string[], making: Making): Promise<string> {
  const sbom = sbomOf(await all(making), name, packagesOf(entries), "", making.at);
  const purl = `pkg:npm/${name.replace("@", "%40")}@${making.version}`;
  return textOf({
    ...sbom,
    metadata: { ...sbom.metadata, component: { ...sbom.metadata.component, type: "library", purl } },
  });
}

function packagesOf(entries: readonly string[]): ReadonlySet<string> {
  return nameAndVersion(ROOT, contentsOf(ROOT, entries).packages);
}

function all({ signal }: Making): Promise<Sbom> {
  const args = ["sbom", "--sbom-format=cyclonedx", "--package-lock-only"];
  allPackages ??= command("npm", args, { cwd: ROOT }, signal).then((text) => JSON.parse(text));
  return allPackages;
}

function textOf(sbom: Sbom): string {
  return `${JSON.stringify(sbom, null, 2)}\n`;
}
