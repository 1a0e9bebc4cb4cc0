import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureCacheEntry } from "../../lab/cluster/cache-entry.ts";
import { cacheRoot } from "../../lab/cluster/cache-root.ts";
import { packageSources } from "../../test/e2e/base-system.ts";
import { command } from "../../test/e2e/command.ts";
import { type Architecture, nodePackage, type SystemPins } from "./system-pins.ts";

/** Libraries by the names under which Node.js is linked to them, and the path of the loader that is written in it. */
const LIBRARIES = ["libc.so.6", "libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "libstdc++.so.6"];
const PLACES = {
  amd64: { folder: "lib/x86_64-linux-gnu", loader: "lib64/ld-linux-x86-64.so.2" },
  arm64: { folder: "lib/aarch64-linux-gnu", loader: "lib/ld-linux-aarch64.so.1" },
} as const;

/**
 * Node.js, the libraries that it is linked to and the terms of both, as system.ts copies them in a build with docker: here from
 * npm's and Debian's packages, so that no machine of that architecture is needed. Kept in the cache.
 *
 * @returns a folder that is the image's root
 */
export async function systemTree(
  architecture: Architecture,
  pins: SystemPins,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<string> {
  const code = await readFile(import.meta.filename);
  const key = createHash("sha256").update(JSON.stringify(pins)).update(code).digest("hex").slice(0, 12);
  const folder = join(cacheRoot(process.env), `image-system-${architecture}-${key}`);
  const build = async (into: string, each: AbortSignal): Promise<void> => {
    say(`Node.js and Debian's libraries for ${architecture}, once: about 70 MB`);
    const work = await mkdtemp(join(tmpdir(), "sallyport-system-"));
    try {
      await copyNode(work, into, architecture, pins.node, each);
      await copyLibraries(work, into, architecture, pins.debian, each);
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  };
  await ensureCacheEntry({ folder, build, onWaiting: () => say("another process makes the same; waiting") }, signal);
  return folder;
}

async function copyNode(
  work: string,
  into: string,
  architecture: Architecture,
  { version, integrity }: SystemPins["node"],
  signal: AbortSignal,
): Promise<void> {
  const name = nodePackage(architecture);
  await command("npm", ["pack", "--prefer-offline", `${name}@${version}`], { cwd: work }, signal);
  const packed = join(work, `${name}-${version}.tgz`);
  await verify(packed, "sha512", integrity[architecture].replace("sha512-", ""), "base64");
  await command("tar", ["-xzf", packed, "package/bin/node", "package/LICENSE"], { cwd: work }, signal);
  await mkdir(join(into, "app"), { recursive: true });
  await mkdir(join(into, "licenses"), { recursive: true });
  await cp(join(work, "package/bin/node"), join(into, "app/node"));
  await cp(join(work, "package/LICENSE"), join(into, "licenses/node"));
}

async function copyLibraries(
  work: string,
  into: string,
  architecture: Architecture,
  { suite, packages }: SystemPins["debian"],
  signal: AbortSignal,
): Promise<void> {
  const root = join(work, "root");
  const apt = await aptFor(work, suite, architecture);
  await command("apt-get", [...apt, "update"], {}, signal);
  for (const { name, version, sha256 } of packages) {
    const cwd = join(work, "debs", name);
    await mkdir(cwd, { recursive: true });
    await command("apt-get", [...apt, "download", `${name}=${version}`], { cwd }, signal).catch((cause: Error) => {
      const why = `Debian's mirror has no ${name} ${version} for ${architecture}, or it cannot be reached`;
      throw new Error(`${why}: npm run release -- --renew-pins takes what it has now.\n${cause.message}`, { cause });
    });
    const [file = ""] = await readdir(cwd);
    await verify(join(cwd, file), "sha256", sha256[architecture], "hex");
    await command("dpkg-deb", ["-x", join(cwd, file), root], {}, signal);
  }
  const { folder, loader } = PLACES[architecture];
  const found = async (name: string): Promise<string> =>
    realpath(join(root, folder, name)).catch(() => realpath(join(root, "usr", folder, name)));
  const loaderName = loader.slice(loader.lastIndexOf("/") + 1);
  for (const [name, to] of [
    ...LIBRARIES.map((each) => [each, join(folder, each)] as const),
    [loaderName, loader] as const,
  ]) {
    await cp(await found(name), join(into, to));
  }
  for (const { name } of packages) {
    const terms = await realpath(join(root, "usr/share/doc", name)).catch(() =>
      join(root, "usr/share/doc/gcc-12-base"),
    );
    await cp(join(terms, "copyright"), join(into, "licenses", name));
  }
  // Names in /etc/hosts before DNS: glibc without this file asks DNS first.
  await mkdir(join(into, "etc"), { recursive: true });
  await writeFile(join(into, "etc/nsswitch.conf"), "hosts: files dns\n");
}

/** The flags for an apt with its own state and one architecture; only the machine's sources and keys are used. */
export async function aptFor(work: string, suite: string, architecture: Architecture): Promise<readonly string[]> {
  const sources = await packageSources(suite);
  if (sources.length === 0) {
    throw new Error(`this machine's apt has no sources of Debian ${suite}: build the images on Debian ${suite}`);
  }
  const parts = join(work, "sources");
  for (const folder of ["state/lists/partial", "cache/archives/partial", "sources"]) {
    await mkdir(join(work, folder), { recursive: true });
  }
  for (const file of sources) await cp(file, join(parts, file.slice(file.lastIndexOf("/") + 1)));
  await writeFile(join(work, "status"), "");
  const options = {
    "APT::Architecture": architecture,
    "APT::Architectures": architecture,
    "APT::Sandbox::User": "root",
    "Dir::State": join(work, "state"),
    "Dir::State::status": join(work, "status"),
    "Dir::Cache": join(work, "cache"),
    "Dir::Etc::sourcelist": "-",
    "Dir::Etc::sourceparts": parts,
  };
  return ["-q", ...Object.entries(options).flatMap(([name, value]) => ["-o", `${name}=${value}`])];
}

async function verify(file: string, algorithm: string, expected: string, as: "hex" | "base64"): Promise<void> {
  const found = createHash(algorithm)
    .update(await readFile(file))
    .digest(as);
  if (found !== expected) throw new Error(`${file} is not the pinned one: ${algorithm} ${found}, not ${expected}`);
}
