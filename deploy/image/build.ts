import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { provenance } from "./provenance.ts";

const HELP = `usage: node deploy/image/build.ts [--tag NAME:TAG] [--arch amd64|arm64] [--base IMAGE] [--build-image IMAGE]
                                  [--node PATH] [--out FOLDER]

Builds the image with docker, and beside it sbom.cdx.json (CycloneDX) and provenance.json (SLSA v1, unsigned).

  --tag          default sallyport:VERSION
  --arch         default: the daemon's own; another one needs a daemon that can run it
  --base         base image, by digest, when it is not to be an empty one; the Dockerfile says what it must have
  --build-image  image with Node 24 and npm to build in, by digest
  --node         path of node in the base image; without it, Node.js comes from the build image
  --out          default build/image
`;

const root = join(import.meta.dirname, "../..");
const { values } = parseArgs({
  options: {
    tag: { type: "string" },
    arch: { type: "string" },
    base: { type: "string" },
    "build-image": { type: "string" },
    node: { type: "string" },
    out: { type: "string", default: join(root, "build/image") },
    help: { type: "boolean", default: false },
  },
});

function output(program: string, ...args: readonly string[]): string {
  return execFileSync(program, args, { cwd: root, encoding: "utf8", maxBuffer: 64 * 1024 ** 2 }).trim();
}

function build(): void {
  const startedAt = new Date();
  const version = String(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version);
  const tag = values.tag ?? `sallyport:${version}`;
  const revision = output("git", "rev-parse", "HEAD");
  const given = { BASE_IMAGE: values.base, BUILD_IMAGE: values["build-image"], NODE: values.node };
  const set = Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const buildArguments = { VERSION: version, REVISION: revision, ...Object.fromEntries(set) };
  execFileSync(
    "docker",
    [
      ...["build", "--file", "deploy/image/Dockerfile", "--tag", tag],
      ...(values.arch === undefined ? [] : ["--platform", `linux/${values.arch}`]),
      ...Object.entries(buildArguments).flatMap(([name, value]) => ["--build-arg", `${name}=${value}`]),
      ".",
    ],
    { cwd: root, stdio: "inherit" },
  );
  const [imageId = "", platform = "", size = ""] = output(
    "docker",
    ...["image", "inspect", "--format", "{{.Id}} {{.Os}}/{{.Architecture}} {{.Size}}", tag],
  ).split(" ");
  mkdirSync(values.out, { recursive: true });
  const sbom = ["sbom", "--omit=dev", "--sbom-format=cyclonedx", "--package-lock-only"];
  writeFileSync(join(values.out, "sbom.cdx.json"), `${output("npm", ...sbom)}\n`);
  const statement = provenance({
    name: tag,
    imageId,
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
  writeFileSync(join(values.out, "provenance.json"), `${JSON.stringify(statement, null, 2)}\n`);
  console.log(
    `${tag} is ${imageId}, ${platform}, ${Math.round(Number(size) / 1e6)} MB; its papers are in ${values.out}`,
  );
}

/** The Dockerfile's own default of a build argument. */
function pinned(name: string): string {
  const found = new RegExp(`^ARG ${name}=(\\S+)$`, "m").exec(
    readFileSync(join(import.meta.dirname, "Dockerfile"), "utf8"),
  );
  if (found?.[1] === undefined) throw new Error(`the Dockerfile has no default for ${name}`);
  return found[1];
}

if (values.help) console.log(HELP);
else build();
