import Type, { type Static, type TSchema } from "typebox";
import { Maybe, Nullable, Strict, Words } from "../wire/schema.ts";

/** What can be built for a project. */
export const PACKAGE_TYPES = [
  "cli",
  "cloudformation",
  "helm",
  "operator-image",
  "sandbox-bundle",
  "terraform",
] as const;
export type PackageType = (typeof PACKAGE_TYPES)[number];

const BINARY_TARGETS = ["windows-x64", "linux-x64", "linux-arm64", "darwin-arm64"] as const;

const text = Type.String({ minLength: 1, maxLength: 1024 });
const texts = Type.Array(Type.String({ maxLength: 256 }), { maxItems: 200 });
const uri = Type.String({ format: "uri", maxLength: 2048 });
const sha256 = Type.String({ pattern: "^[0-9a-fA-F]{64}$" });
const size = Type.Integer({ minimum: 0 });

/** A custom plugin as it is baked into the operator's image. */
const BakedPlugin = Strict({
  name: Type.String(),
  version: Type.String(),
  sha256: Nullable(
    Type.String({ maxLength: 64, description: "Of the bundle; null: it was registered before bundles were kept." }),
  ),
});

/** How a package is to be built: the project's `packagesConfig` at the time, as every builder reads it. */
export const PackageConfig = Type.Union([
  Strict({
    type: Type.Literal("cli"),
    name: text,
    displayName: text,
    binaryTargets: Type.Array(Words(BINARY_TARGETS)),
  }),
  Strict({
    type: Type.Literal("cloudformation"),
    displayName: Nullable(Type.String()),
    supportedAwsRegions: Type.Optional(texts),
  }),
  Strict({
    type: Type.Literal("terraform"),
    displayName: Nullable(Type.String()),
    supportedAwsRegions: Type.Optional(texts),
  }),
  Strict({ type: Type.Literal("helm"), chartName: text, description: Type.String() }),
  Strict({
    type: Type.Literal("operator-image"),
    name: text,
    displayName: text,
    brand: Nullable(Type.String()),
    envPrefix: Nullable(Type.String()),
    labelDomain: Nullable(Type.String()),
    plugins: Type.Optional(
      Type.Array(BakedPlugin, { description: "The project's custom plugins that are enabled, by name." }),
    ),
  }),
  Strict({ type: Type.Literal("sandbox-bundle"), name: text, displayName: text }),
]);
export type PackageConfig = Static<typeof PackageConfig>;

/** Where a built package lies, by its type. */
export const PACKAGE_OUTPUTS = {
  cli: Strict({
    type: Type.Literal("cli"),
    binaries: Type.Record(Type.String(), Strict({ sha256, size, url: uri })),
    buildInfo: Strict({
      coreSha: text,
      runtimeSha: text,
      platformSha: text,
      sourceCliBinarySha256: text,
      machineBundleManifestUrl: Maybe(uri),
      sourceAgentBinarySha256: Maybe(text),
    }),
  }),
  cloudformation: Strict({
    type: Type.Literal("cloudformation"),
    targets: Type.Record(
      Type.String(),
      Strict({
        target: text,
        templateUrl: uri,
        sha256,
        size,
        launchStackUrl: Maybe(uri),
        stackPolicyUrl: Maybe(uri),
      }),
    ),
  }),
  terraform: Strict({
    type: Type.Literal("terraform"),
    modules: Type.Record(
      Type.String(),
      Strict({ target: text, source: text, downloadUrl: uri, filename: text, shasum: text, size, variables: texts }),
    ),
    provider: Strict({
      source: text,
      gpgPublicKey: Strict({ asciiArmor: Type.String({ maxLength: 65_536 }), keyId: text }),
      platforms: Type.Record(
        Type.String(),
        Strict({
          downloadUrl: uri,
          filename: text,
          shasum: text,
          shasumsSignatureUrl: uri,
          shasumsUrl: uri,
          size,
        }),
      ),
    }),
  }),
  helm: Strict({ type: Type.Literal("helm"), chart: text, version: text }),
  "operator-image": Strict({
    type: Type.Literal("operator-image"),
    image: Type.String({
      minLength: 1,
      maxLength: 1024,
      description: "The repository to pull from; of an image that was not pushed the archive's address.",
    }),
    digest: text,
    labelDomain: Maybe(text),
    archive: Maybe(
      Type.String({
        format: "uri",
        maxLength: 2048,
        description: "Address of the image as an OCI archive, while the platform keeps it.",
      }),
    ),
    plugins: Maybe(
      Type.Record(Type.String(), Type.Unknown(), {
        description: "Values `plugins` of the chart: all that the image's plugins ask for.",
      }),
    ),
  }),
  "sandbox-bundle": Strict({ type: Type.Literal("sandbox-bundle"), url: uri, sha256, size }),
} satisfies Readonly<Record<PackageType, TSchema>>;
export const PackageOutputs = Type.Union([
  PACKAGE_OUTPUTS.cli,
  PACKAGE_OUTPUTS.cloudformation,
  PACKAGE_OUTPUTS.helm,
  PACKAGE_OUTPUTS["operator-image"],
  PACKAGE_OUTPUTS["sandbox-bundle"],
  PACKAGE_OUTPUTS.terraform,
]);
export type PackageOutputs = Static<typeof PackageOutputs>;
