import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { type Entry, tarOf } from "./archive.ts";

const TYPES = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar+gzip",
  chartConfig: "application/vnd.cncf.helm.config.v1+json",
  chartLayer: "application/vnd.cncf.helm.chart.content.v1.tar+gzip",
} as const;

/** One blob of an artifact, as others name it. */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform?: { readonly architecture: string; readonly os: string };
  readonly annotations?: Readonly<Record<string, string>>;
}

/** What a registry keeps under one tag, and the blobs below it. */
export interface Artifact {
  readonly root: Descriptor;
  readonly blobs: ReadonlyMap<string, Uint8Array>;
}

/** How a container of the image starts: the fields of the image specification's configuration. */
export interface ImageConfig {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly WorkingDir: string;
  readonly Labels: Readonly<Record<string, string>>;
}

export interface PlatformImage {
  /** As registries name it: `amd64`. */
  readonly architecture: string;
  readonly config: ImageConfig;
  /** Gzipped tar archives, the lowest first. */
  readonly layers: readonly Uint8Array[];
}

/** One image for several architectures. @param at when it was made, in seconds since 1970 */
export function imageArtifact(images: readonly PlatformImage[], at: number): Artifact {
  const blobs = new Map<string, Uint8Array>();
  return indexArtifact(
    images.map((image) => storedImage(blobs, image, at)),
    blobs,
  );
}

/** Puts the blobs of one image among others. @returns how an index names it */
export function storedImage(
  blobs: Map<string, Uint8Array>,
  { architecture, config, layers }: PlatformImage,
  at: number,
): Descriptor {
  const created = new Date(at * 1_000).toISOString();
  const rootfs = { type: "layers", diff_ids: layers.map((layer) => digestOf(gunzipSync(layer))) };
  const history = layers.map(() => ({ created, created_by: "npm run release" }));
  const settings = { created, architecture, os: "linux", config, rootfs, history };
  const manifest = {
    schemaVersion: 2,
    mediaType: TYPES.manifest,
    config: stored(blobs, TYPES.config, jsonOf(settings)),
    layers: layers.map((layer) => stored(blobs, TYPES.layer, layer)),
  };
  return { ...stored(blobs, TYPES.manifest, jsonOf(manifest)), platform: { architecture, os: "linux" } };
}

/** Several images under one name. */
export function indexArtifact(manifests: readonly Descriptor[], blobs: Map<string, Uint8Array>): Artifact {
  const index = { schemaVersion: 2, mediaType: TYPES.index, manifests };
  return { root: stored(blobs, TYPES.index, jsonOf(index)), blobs };
}

/** A chart as `helm pull oci://…` reads it. @param about the fields of its Chart.yaml */
export function chartArtifact(chart: Uint8Array, about: object): Artifact {
  const blobs = new Map<string, Uint8Array>();
  const manifest = {
    schemaVersion: 2,
    mediaType: TYPES.manifest,
    config: stored(blobs, TYPES.chartConfig, jsonOf(about)),
    layers: [stored(blobs, TYPES.chartLayer, chart)],
  };
  return { root: stored(blobs, TYPES.manifest, jsonOf(manifest)), blobs };
}

/** The files of an OCI image layout. @param tag under which a reader finds the artifact */
export function layoutOf({ root, blobs }: Artifact, tag: string): readonly Entry[] {
  const manifests = [{ ...root, annotations: { "org.opencontainers.image.ref.name": tag } }];
  const index = { schemaVersion: 2, mediaType: TYPES.index, manifests };
  return [
    { path: "oci-layout", content: jsonOf({ imageLayoutVersion: "1.0.0" }) },
    { path: "index.json", content: jsonOf(index) },
    ...[...blobs].map(([digest, content]) => ({ path: `blobs/${digest.replace(":", "/")}`, content })),
  ];
}

/** An OCI archive, as skopeo, podman and containerd read it. */
export function ociArchive(artifact: Artifact, tag: string): Promise<Buffer> {
  return tarOf(layoutOf(artifact, tag), 0);
}

function stored(blobs: Map<string, Uint8Array>, mediaType: string, bytes: Uint8Array): Descriptor {
  const digest = digestOf(bytes);
  blobs.set(digest, bytes);
  return { mediaType, digest, size: bytes.length };
}

function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

function jsonOf(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}
