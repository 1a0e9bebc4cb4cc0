import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { findOnPath } from "../../lab/cluster/path-search.ts";
import { baseSystem } from "./base-system.ts";
import { bash, command } from "./command.ts";
import type { Docker } from "./daemon.ts";

const root = join(import.meta.dirname, "../..");
/** The chart's default. */
const REPOSITORIES = { cluster: "sallyport/sallyport", platform: "sallyport/platform" } as const;
const AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt";

export interface ProductImage {
  readonly name: string;
  readonly sizeBytes: number;
}

/** An image as the project's own script builds it; `papers` gets its SBOM and provenance. */
export async function productImage(
  docker: Docker,
  part: keyof typeof REPOSITORIES,
  { buildImage, papers }: { readonly buildImage: string | undefined; readonly papers: string },
  signal: AbortSignal,
): Promise<ProductImage> {
  const { version }: { version: string } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const name = `${REPOSITORIES[part]}:${version}`;
  const args = [
    ...["--part", part, "--tag", name, "--out", papers],
    ...(buildImage === undefined ? [] : ["--build-image", buildImage]),
  ];
  await command(
    process.execPath,
    [join(root, "deploy/image/build.ts"), ...args],
    { env: docker.env, cwd: root },
    signal,
  );
  const size = await docker.run(["image", "inspect", "--format", "{{.Size}}", name], {}, signal);
  return { name, sizeBytes: Number(size) };
}

/**
 * Undefined: the Dockerfile's own image can be pulled. Else an image made here of Debian's packages and this machine's
 * Node.js and npm.
 */
export async function imageToBuildIn(
  docker: Docker,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<string | undefined> {
  const dockerfile = await readFile(join(root, "deploy/image/Dockerfile"), "utf8");
  const pinned = /^ARG BUILD_IMAGE=(\S+)$/m.exec(dockerfile)?.[1] ?? "";
  try {
    await docker.run(["pull", "--quiet", pinned], { timeoutMs: 300_000 }, signal);
    return undefined;
  } catch {
    signal.throwIfAborted();
    say("the image to build in cannot be pulled: making one from Debian's packages");
    return makeImageToBuildIn(docker, say, signal);
  }
}

async function makeImageToBuildIn(docker: Docker, say: (line: string) => void, signal: AbortSignal): Promise<string> {
  const image = "sallyport-e2e/build";
  const base = await baseSystem(docker, say, signal);
  const folder = await mkdtemp(join(tmpdir(), "sallyport-build-"));
  try {
    const npm = process.env.npm_execpath ?? (await realpath((await findOnPath("npm")) ?? ""));
    await cp(process.execPath, join(folder, "node"));
    await cp(dirname(dirname(npm)), join(folder, "npm"), { recursive: true });
    // A network that opens TLS has its own authority: this machine trusts it, so the build must too.
    await cp(AUTHORITIES, join(folder, "authorities.crt"));
    await copyTerms(join(folder, "doc"));
    const registry = (await command("npm", ["config", "get", "registry"], { cwd: root }, signal)).trim();
    await writeFile(join(folder, "Dockerfile"), dockerfileOf(base, registry));
    const script = 'docker build --quiet --tag "$IMAGE" "$FOLDER"';
    await bash(script, { env: { ...docker.env, DOCKER_BUILDKIT: "0", IMAGE: image, FOLDER: folder } }, signal);
    return image;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The base system was made without documentation; these are the terms of the same packages on this machine. */
async function copyTerms(folder: string): Promise<void> {
  for (const name of ["nodejs", "libc6", "libgcc-s1", "libstdc++6"]) {
    const terms = `/usr/share/doc/${name}/copyright`;
    if (existsSync(terms)) await cp(terms, join(folder, name, "copyright"), { dereference: true });
  }
  await mkdir(folder, { recursive: true });
}

function dockerfileOf(base: string, registry: string): string {
  return `FROM ${base}
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
COPY authorities.crt ${AUTHORITIES}
COPY doc /usr/share/doc
ENV NODE_EXTRA_CA_CERTS=${AUTHORITIES} npm_config_cafile=${AUTHORITIES} npm_config_registry=${registry}
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
`;
}
