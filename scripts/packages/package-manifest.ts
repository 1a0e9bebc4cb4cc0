import { readFileSync } from "node:fs";
import { join } from "node:path";

/** What is the same in the manifest of each package. */
export interface PackageWords {
  readonly name: string;
  readonly description: string;
  readonly node: string;
}

interface RootManifest {
  readonly version: string;
  readonly license: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

/**
 * The `package.json` of a package of ours.
 *
 * @param root of the checkout, whose version it has
 * @param rest what the kind of package adds
 */
export function packageManifest(root: string, words: PackageWords, rest: Readonly<Record<string, unknown>>): string {
  const { version, license } = rootManifest(root);
  const manifest = {
    name: words.name,
    version,
    description: words.description,
    license,
    type: "module",
    engines: { node: words.node },
    sideEffects: false,
    ...rest,
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

/**
 * The versions of packages that a library asks for: what was tested and all that promise to be compatible with it. An exact
 * version would give an importing program two copies.
 */
export function versionRanges(root: string, names: readonly string[]): Readonly<Record<string, string>> {
  const { dependencies } = rootManifest(root);
  return Object.fromEntries(
    names.map((name) => {
      const version = dependencies[name];
      if (version === undefined) throw new Error(`package.json has no dependency ${name}`);
      return [name, `^${version}`];
    }),
  );
}

function rootManifest(root: string): RootManifest {
  return JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as RootManifest;
}
