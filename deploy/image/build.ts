import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readOptions, refuse } from "../../scripts/running/options.ts";
import { isPart, type Part } from "./parts.ts";
import { platformTool } from "./platform-tool.ts";
import { provenance } from "./provenance.ts";

const HELP = `usage: npm run image -- [--part cluster|platform] [--tag NAME:TAG] [--push] [--arch amd64|arm64]
                        [--base IMAGE] [--build-image IMAGE] [--node PATH] [--out FOLDER]

Builds an image with docker, and beside it sbom.cdx.json (CycloneDX) and provenance.json (SLSA v1, unsigned).

  --part         cluster (default): agent, operator and \`helm test\`; platform: the Management API and all commands; needs Go
  --tag          default sallyport:VERSION, for the platform sallyport-platform:VERSION
  --push         pushes it. Only a pushed image has the digest that a chart pins: provenance.json then names that one
  --arch         default: the daemon's own; another one needs a daemon that can run it
  --base         base image, by digest, when it is not to be an empty one; the Dockerfile says what it must have
  --build-image  image with Node 24 and npm to build in, by digest
  --node         path of node in the base image; without it, Node.js comes from the build image
  --out          default build/image/PART
  --help         this text

The files' times, and with BuildKit the image's, are those of the commit (SOURCE_DATE_EPOCH overrides them).
`;

const root = join(import.meta.dirname, "../..");
const SCRIPT = { name: "npm run image", help: HELP };
const { values } = readOptions(SCRIPT, {
  part: { type: "string", default: "cluster" },
  tag: { type: "string" },
  push: { type: "boolean", default: false },
  arch: { type: "string" },
  base: { type: "string" },
  "build-image": { type: "string" },
  node: { type: "string" },
  out: { type: "string" },
});

function output(program: string, ...args: readonly string[]): string {
  return execFileSync(program, args, { cwd: root, encoding: "utf8", maxBuffer: 64 * 1024 ** 2 }).trim();
}

async function build(part: Part): Promise<void> {
  const startedAt = new Date();
  const out = values.out ?? join(root, "build/image", part);
  const version = String(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version);
  const tag = values.tag ?? `sallyport${part === "platform" ? "-platform" : ""}:${version}`;
  const revision = output("git", "rev-parse", "HEAD");
  // biome-ignore lint/style/noProcessEnv: the variable that reproducible builds agree on.
  const at = process.env.SOURCE_DATE_EPOCH ?? output("git", "log", "-1", "--format=%ct");
  const given = { BASE_IMAGE: values.base, BUILD_IMAGE: values["build-image"], NODE: values.node };
  const set = Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const buildArguments = {
    ...{ PART: part, VERSION: version, REVISION: revision, SOURCE_DATE_EPOCH: at },
    ...Object.fromEntries(set),
  };
  await dockerBuild(part, [
    ...["--file", "deploy/image/Dockerfile", "--tag", tag],
    ...(values.arch === undefined ? [] : ["--platform", `linux/${values.arch}`]),
    ...Object.entries(buildArguments).flatMap(([name, value]) => ["--build-arg", `${name}=${value}`]),
  ]);
  const [imageId = "", platform = "", size = ""] = output(
    "docker",
    ...["image", "inspect", "--format", "{{.Id}} {{.Os}}/{{.Architecture}} {{.Size}}", tag],
  ).split(" ");
  if (values.push) execFileSync("docker", ["push", tag], { stdio: "inherit" });
  mkdirSync(out, { recursive: true });
  copySbom(tag, join(out, "sbom.cdx.json"));
  const statement = provenance({
    name: tag,
    digest: values.push ? pushedDigest(tag) : imageId,
    platform,
    revision,
    dirty: output("git", "status", "--porcelain") !== "",
    repository: "git+file:.",
    arguments: buildArguments,
    // An empty base is no dependency.
    bases: [values["build-image"] ?? pinned("BUILD_IMAGE"), ...(values.base === undefined ? [] : [values.base])],
    lockSha256: createHash("sha256")
      .update(readFileSync(join(root, "package-lock.json")))
      .digest("hex"),
    startedAt,
    finishedAt: new Date(),
  });
  writeFileSync(join(out, "provenance.json"), `${JSON.stringify(statement, null, 2)}\n`);
  console.log(`${tag} is ${imageId}, ${platform}, ${Math.round(Number(size) / 1e6)} MB; its papers are in ${out}`);
}

/** Where the Dockerfile looks for plugin-layer. */
const TOOL = join(import.meta.dirname, "plugin-layer/built");

/** Leaves no plugin-layer behind, also when it is stopped: a later `docker build` for another architecture would pack it. */
async function dockerBuild(part: Part, flags: readonly string[]): Promise<void> {
  const stop = new AbortController();
  const end = (name: string): void => stop.abort(new Error(`stopped by ${name}`));
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, end);
  try {
    if (part === "platform") await putTool(stop.signal);
    const docker = spawn("docker", ["build", ...flags, "."], { cwd: root, stdio: "inherit", signal: stop.signal });
    const [code] = await once(docker, "close");
    if (code !== 0) throw new Error("docker build failed");
  } finally {
    rmSync(TOOL, { recursive: true, force: true });
    for (const name of ["SIGINT", "SIGTERM"] as const) process.off(name, end);
  }
}

async function putTool(signal: AbortSignal): Promise<void> {
  const architecture = values.arch ?? output("docker", "version", "--format", "{{.Server.Arch}}");
  if (!isArchitecture(architecture)) throw new Error(`docker runs on ${architecture}: --arch is amd64 or arm64`);
  const folder = await platformTool(architecture, (line) => console.error(line), signal);
  rmSync(TOOL, { recursive: true, force: true });
  cpSync(folder, TOOL, { recursive: true });
}

function isArchitecture(name: string): name is "amd64" | "arm64" {
  return name === "amd64" || name === "arm64";
}

/** The one in the image: it was made where the system's libraries are known. */
function copySbom(tag: string, file: string): void {
  const container = output("docker", "create", tag);
  try {
    output("docker", "cp", `${container}:/app/sbom.cdx.json`, file);
  } finally {
    output("docker", "rm", container);
  }
}

/** @returns `sha256:…` of the manifest: what `image.digest` of the chart names */
function pushedDigest(tag: string): string {
  const [digest] = output("docker", "image", "inspect", "--format", "{{range .RepoDigests}}{{println .}}{{end}}", tag)
    .split("\n")
    .map((reference) => reference.split("@"))
    .filter(([name]) => tag.startsWith(`${name}:`))
    .map(([, each]) => each);
  if (digest === undefined) throw new Error(`docker names no digest of ${tag} after the push`);
  return digest;
}

/** The Dockerfile's own default of a build argument. */
function pinned(name: string): string {
  const found = new RegExp(`^ARG ${name}=(\\S+)$`, "m").exec(
    readFileSync(join(import.meta.dirname, "Dockerfile"), "utf8"),
  );
  if (found?.[1] === undefined) throw new Error(`the Dockerfile has no default for ${name}`);
  return found[1];
}

if (!isPart(values.part)) refuse(SCRIPT, "--part is cluster or platform");
if (values.arch !== undefined && !isArchitecture(values.arch)) refuse(SCRIPT, "--arch is amd64 or arm64");
await build(values.part);
