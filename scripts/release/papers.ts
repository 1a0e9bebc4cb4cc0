import { createHash } from "node:crypto";
import { CHART_CHANGES } from "../generate/chart/chart-changes.ts";
import type { Made } from "./making.ts";
import { nodePackage, type SystemPins } from "./system-pins.ts";

/** What the version changed, for people: of the one list that the chart's changelog is made of too. */
export function changelogOf(version: string): string {
  const changes = CHART_CHANGES.find((each) => each.version === version)?.changes ?? [];
  const lines = changes.map(({ kind, description }) => `- ${kind}: ${description}.`);
  return `# Changes of Sallyport ${version}\n\n${lines.join("\n")}\n`;
}

/** The form of `sha256sum --check`. */
export function checksums(files: Made): string {
  const sorted = files.toSorted(([one], [other]) => (one < other ? -1 : 1));
  return sorted.map(([path, content]) => `${sha256(content)}  ${path}\n`).join("");
}

/** All modules of the program in the platform's image, by hash. */
export const GO_SUM = "deploy/image/plugin-layer/go.sum";

export interface ReleaseFacts {
  readonly version: string;
  readonly revision: string;
  /** The work tree had changes that no revision knows. */
  readonly isDirty: boolean;
  readonly lock: Uint8Array;
  /** Undefined where no image was made. */
  readonly pins: SystemPins | undefined;
  /** go.sum of plugin-layer. */
  readonly modules: Uint8Array;
}

/**
 * An in-toto statement with SLSA provenance v1 for all files. Unsigned: signing needs an identity that only a pipeline has. Without
 * the times of the run, which would make the bytes differ from one run to the next.
 */
export function releaseProvenance(
  files: Made,
  { version, revision, isDirty, lock, pins, modules }: ReleaseFacts,
): object {
  const subjects = files.toSorted(([one], [other]) => (one < other ? -1 : 1));
  return {
    _type: "https://in-toto.io/Statement/v1",
    subject: subjects.map(([name, content]) => ({ name, digest: { sha256: sha256(content) } })),
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: "https://sallyport.dev/build/release/v1",
        externalParameters: { version },
        internalParameters: { dirty: isDirty, node: process.versions.node },
        resolvedDependencies: [
          { uri: "git+file:.", digest: { gitCommit: revision } },
          { uri: "package-lock.json", digest: { sha256: sha256(lock) } },
          ...(pins === undefined ? [] : [...pinned(pins), { uri: GO_SUM, digest: { sha256: sha256(modules) } }]),
        ],
      },
      runDetails: { builder: { id: "https://sallyport.dev/builders/local" } },
    },
  };
}

function pinned({ node, debian }: SystemPins): readonly object[] {
  const ofNode = Object.entries(node.integrity).map(([architecture, integrity]) => ({
    uri: `pkg:npm/${nodePackage(architecture as "amd64")}@${node.version}`,
    digest: { sha512: Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex") },
  }));
  const ofDebian = debian.packages.flatMap(({ name, version, sha256: digests }) =>
    Object.entries(digests).map(([arch, digest]) => ({
      uri: `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${arch}`,
      digest: { sha256: digest },
    })),
  );
  return [...ofNode, ...ofDebian];
}

function sha256(content: Uint8Array | string): string {
  return createHash("sha256").update(content).digest("hex");
}
