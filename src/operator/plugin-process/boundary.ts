import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** What a plugin's process sees of the machine, each under its own path, and can only read. */
export interface Sight {
  readonly visible: readonly string[];
  /** Where it starts: one of them. */
  readonly folder: string;
}

/**
 * A boundary of the operating system: Linux namespaces of users, files, network, processes and IPC in which there is nothing but a
 * {@link Sight}. What the code of a plugin would reach beyond Node.js ends there: sockets of the machine, by path as by address,
 * files, other processes. The operator needs none: its pod is one.
 */
export interface Boundary {
  readonly name: "bwrap" | "unshare";
  /** The program that starts `command` inside, with its arguments. */
  enclose(command: readonly string[], sight: Sight): readonly string[];
}

/** Where systems keep such programs. A person's own PATH is not asked. */
export const SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin";

/** A number without a right to anything. */
const NOBODY = "65534";

const bwrap: Boundary = {
  name: "bwrap",
  enclose: (command, { visible, folder }) => [
    ...["bwrap", "--unshare-all", "--unshare-user", "--uid", NOBODY, "--gid", NOBODY, "--cap-drop", "ALL"],
    ...["--new-session", "--die-with-parent", "--clearenv"],
    ...visible.flatMap((path) => ["--ro-bind", path, path]),
    ...["--chdir", folder, "--", ...command],
  ],
};

/**
 * Builds the root of the new file system over a folder that every Linux has, which the machine's other processes do not see. The second
 * `unshare` ends the rights with which this is done. `nosuid` and `nodev` are said because a mount that has them may not lose them here.
 */
const BUILD_ROOT = `set -e
root=/sys
mount -t tmpfs -o size=1m,mode=0755 none "$root"
while [ "$1" != -- ]; do
  if [ -d "$1" ]; then mkdir -p "$root$1"; else mkdir -p "$root\${1%/*}"; : > "$root$1"; fi
  mount --bind "$1" "$root$1"
  mount -o remount,bind,ro,nosuid,nodev "$root$1"
  shift
done
exec env -i unshare --user --map-user=${NOBODY} --map-group=${NOBODY} --root="$root" --wd="$0" "$@"`;

const unshare: Boundary = {
  name: "unshare",
  enclose: (command, { visible, folder }) => [
    ...["unshare", "--user", "--map-root-user", "--mount", "--net", "--pid", "--ipc", "--uts", "--cgroup"],
    ...["--fork", "--kill-child", "sh", "-c", BUILD_ROOT, folder, ...visible, "--", ...command],
  ],
};

/** In the order in which they are tried: where a system lets one program alone make namespaces, it is the first. */
export const BOUNDARIES: readonly Boundary[] = [bwrap, unshare];

let found: Promise<Boundary | undefined> | undefined;

/** The first that works on this machine, which is tried once: it may lack the program, or forbid namespaces to who has no rights. */
export function findBoundary(): Promise<Boundary | undefined> {
  found ??= firstThatWorks();
  return found;
}

async function firstThatWorks(): Promise<Boundary | undefined> {
  if (process.platform !== "linux") return undefined;
  for (const boundary of BOUNDARIES) if (await works(boundary)) return boundary;
  return undefined;
}

const TRY_MS = 10_000;

export async function works(boundary: Boundary): Promise<boolean> {
  const sight = { visible: programFiles(), folder: "/" };
  const command = [process.execPath, "--input-type=module", "--eval", `import "node:crypto";`];
  const [program = "", ...args] = boundary.enclose(command, sight);
  try {
    await promisify(execFile)(program, args, { env: { PATH: SYSTEM_PATH }, timeout: TRY_MS, killSignal: "SIGKILL" });
    return true;
  } catch {
    return false;
  }
}

/** Node.js itself, with the libraries that it is linked with. */
export function programFiles(): readonly string[] {
  // Else it asks for the names of the machine's addresses.
  Object.assign(process.report, { excludeNetwork: true });
  const { sharedObjects } = process.report.getReport() as { readonly sharedObjects: readonly string[] };
  return [process.execPath, ...sharedObjects.filter((path) => path.startsWith("/") && !path.endsWith(".node"))];
}
