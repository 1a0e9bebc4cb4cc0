import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { ensureCacheEntry } from "../../lab/cluster/cache-entry.ts";
import { cacheRoot } from "../../lab/cluster/cache-root.ts";
import { command } from "./command.ts";
import { type Docker, Unavailable } from "./daemon.ts";

/** What a node needs to run, curl for a machine that joins, and libstdc++ for Node.js. */
const PACKAGES = [
  ...["systemd", "dbus", "containerd", "runc", "iptables", "nftables", "iproute2", "conntrack", "ethtool", "kmod"],
  ...["mount", "procps", "containernetworking-plugins", "ca-certificates", "curl", "libstdc++6"],
];
const SUITE = "bookworm";
const LEFT_OUT = ["/usr/share/man/*", "/usr/share/doc/*", "/usr/share/locale/*"];

/** Part of the cache keys of what is made from it. Debian's patch levels are those of the day on which it was made. */
export const BASE_SYSTEM = createHash("sha256")
  .update([SUITE, ...PACKAGES, ...LEFT_OUT, process.arch].join("\0"))
  .digest("hex")
  .slice(0, 12);

/** The name of an image with a small Debian, made from its packages for machines that reach no registry. */
export async function baseSystem(docker: Docker, say: (line: string) => void, signal: AbortSignal): Promise<string> {
  const image = `sallyport-e2e/base:${BASE_SYSTEM}`;
  if (await hasImage(docker, image, signal)) return image;
  const folder = join(cacheRoot(process.env), `base-system-${BASE_SYSTEM}`);
  await ensureCacheEntry(
    {
      folder,
      async build(into, buildSignal) {
        if (process.getuid?.() !== 0 || !existsSync("/etc/debian_version")) {
          throw new Unavailable(
            "No registry has kind's node image for us, and only root on Debian can make one from packages here.",
          );
        }
        say("a small Debian from its packages, once: about a minute");
        const part = join(into, "part.tar");
        await command(
          "mmdebstrap",
          [
            ...["--quiet", "--variant=essential", "--mode=root", "--format=tar", `--include=${PACKAGES.join(",")}`],
            '--aptopt=Apt::Install-Recommends "false"',
            ...LEFT_OUT.map((path) => `--dpkgopt=path-exclude=${path}`),
            ...[SUITE, part, ...(await packageSources())],
          ],
          {},
          buildSignal,
        );
        await rename(part, join(into, "system.tar"));
      },
      onWaiting: () => undefined,
    },
    signal,
  );
  await docker.run(["import", join(folder, "system.tar"), image], {}, signal);
  return image;
}

export async function hasImage(docker: Docker, image: string, signal: AbortSignal): Promise<boolean> {
  return docker.run(["image", "inspect", image], {}, signal).then(
    () => true,
    () => {
      signal.throwIfAborted();
      return false;
    },
  );
}

/** This machine's own, so that its mirrors and keys are used; but Debian's only. */
export async function packageSources(suite = SUITE): Promise<readonly string[]> {
  const folder = "/etc/apt/sources.list.d";
  const names = existsSync(folder) ? await readdir(folder) : [];
  const files = ["/etc/apt/sources.list", ...names.map((name) => join(folder, name))];
  const isDebian = async (file: string): Promise<boolean> =>
    /\.(list|sources)$/.test(file) &&
    existsSync(file) &&
    new RegExp(`^(deb|Suites:)\\s.*\\b${suite}\\b`, "m").test(await readFile(file, "utf8")) &&
    /debian/.test(await readFile(file, "utf8"));
  const found = await Promise.all(files.map(async (file) => ((await isDebian(file)) ? [file] : [])));
  return found.flat();
}
