import { spawn } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { cacheRoot } from "../../lab/cluster/cache-root.ts";
import { findOnPath } from "../../lab/cluster/path-search.ts";
import { sleep, systemClock } from "../../src/base/clock.ts";
import { answer, bash, command } from "./command.ts";
import { type Docker, serverVersion, Unavailable } from "./daemon.ts";
import { abandoned } from "./run-folder.ts";

const PACKAGES = ["docker.io", "iproute2", "iptables", "mmdebstrap"];
const PROGRAMS = ["dockerd", "docker", "ip", "iptables", "nsenter", "mmdebstrap"];

const HOW_TO_GET_ONE =
  "Start Docker (https://docs.docker.com/engine/install/), or run this as root on Debian, where it starts one by itself";

/**
 * CAP_NET_ADMIN and CAP_SYS_ADMIN: the kernel starts containers only for a process that has them. Source:
 * linux/capability.h.
 */
const NEEDED_CAPABILITIES = { NET_ADMIN: 12, SYS_ADMIN: 21 } as const;

/** dockerd's messages when the kernel or an outer container forbids something; others are our own mistakes. */
const FORBIDDEN = /not permitted|permission denied|cgroup|not supported|read-only file system|no such device/i;

/** The files and addresses of one daemon, and the process that started it. */
interface Place {
  readonly pid: number;
  readonly folder: string;
  readonly netns: string;
  /** Our end of the cable. Interface names have at most 15 letters. */
  readonly cable: string;
  /** Of the range for benchmarks, RFC 2544: no real network has it. */
  readonly ours: string;
  readonly theirs: string;
}

function placeOf(pid: number): Place {
  const block = (pid % 16_384) * 4;
  const prefix = `198.18.${block >> 8}.`;
  return {
    pid,
    folder: join(cacheRoot(process.env), `docker-${pid}`),
    netns: `sallyport-${pid}`,
    cable: `sp-${pid}`,
    ours: `${prefix}${(block & 255) + 1}`,
    theirs: `${prefix}${(block & 255) + 2}`,
  };
}

/**
 * Starts Debian's daemon in a network namespace of its own, so that its bridges and rules end with it. A cable (a veth
 * pair) leads out: containers reach this process at our end, and their published ports are at the other end.
 */
export async function startOwnDaemon(say: (line: string) => void, signal: AbortSignal): Promise<Docker> {
  await mayWe();
  await install(say, signal);
  const place = placeOf(process.pid);
  const env = { DOCKER_HOST: `unix://${join(place.folder, "docker.sock")}` };
  try {
    await connect(place, signal);
    await startDaemon(place, env, signal);
  } catch (error) {
    await end(place);
    throw error;
  }
  return {
    description: `docker ${await serverVersion(env, signal)}, started for this run`,
    env,
    // kind would look for a free port here and not in the daemon's namespace, in which every port is free.
    publishedAt: { address: place.theirs, port: 6443 },
    hostAddress: place.ours,
    run: (args, options, each) => command("docker", args, { ...options, env: { ...options.env, ...env } }, each),
    stop: () => end(place),
  };
}

async function mayWe(): Promise<void> {
  if (process.platform !== "linux" || process.getuid?.() !== 0 || !existsSync("/etc/debian_version")) {
    throw new Unavailable(`no Docker daemon answers, and none can be started here. ${HOW_TO_GET_ONE}.`);
  }
  const mask = /^CapEff:\s*([0-9a-f]+)/m.exec(await readFile("/proc/self/status", "utf8"))?.[1] ?? "0";
  const missing = Object.entries(NEEDED_CAPABILITIES)
    .filter(([, bit]) => ((BigInt(`0x${mask}`) >> BigInt(bit)) & 1n) === 0n)
    .map(([name]) => name);
  if (missing.length > 0) {
    throw new Unavailable(
      `no Docker daemon answers, and root may not start one: it lacks ${missing.join(" and ")}. ${HOW_TO_GET_ONE}.`,
    );
  }
}

async function install(say: (line: string) => void, signal: AbortSignal): Promise<void> {
  const found = await Promise.all(PROGRAMS.map((name) => findOnPath(name)));
  if (found.every((path) => path !== undefined)) return;
  say("installing Debian's docker.io");
  // With this run level the package does not start its own service; ours runs in another namespace.
  const env = { DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" };
  const apt = ["-o", "DPkg::Lock::Timeout=120", "-qq"];
  await answer("apt-get", [...apt, "update"], { env }, signal);
  const installing = ["install", "-y", "--no-install-recommends", ...PACKAGES];
  const { code, stderr } = await answer("apt-get", [...apt, ...installing], { env }, signal);
  if (code === 0) return;
  throw new Unavailable(
    `no Docker daemon answers, and Debian's could not be installed (${stderr.trim().split("\n").at(-1)}). ${HOW_TO_GET_ONE}.`,
  );
}

async function connect(place: Place, signal: AbortSignal): Promise<void> {
  await mkdir(place.folder, { recursive: true });
  const script = `
    cat /proc/sys/net/ipv4/ip_forward > "$FOLDER/ip-forward-before"
    mtu=$(cat "/sys/class/net/$(ip -4 route show default | sed -nE 's/.* dev (\\S+).*/\\1/p;q')/mtu" 2>/dev/null || echo 1500)
    echo "$mtu" > "$FOLDER/mtu"
    ip netns add "$NETNS"
    ip -n "$NETNS" link set lo up
    ip link add "$CABLE" mtu "$mtu" type veth peer name out mtu "$mtu" netns "$NETNS"
    ip address add "$OURS/30" dev "$CABLE"
    ip link set "$CABLE" up
    ip -n "$NETNS" address add "$THEIRS/30" dev out
    ip -n "$NETNS" link set out up
    ip -n "$NETNS" route add default via "$OURS"
    iptables -w -t nat -A POSTROUTING -s "$THEIRS" ! -o "$CABLE" -j MASQUERADE
    nsenter --net="/run/netns/$NETNS" sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
    echo 1 > /proc/sys/net/ipv4/ip_forward`;
  try {
    await bash(script, { env: environmentOf(place), timeoutMs: 30_000 }, signal);
  } catch (error) {
    if (!(error instanceof Error) || !FORBIDDEN.test(error.message)) throw error;
    throw new Unavailable(`the kernel lets nobody make a network namespace here. ${HOW_TO_GET_ONE}.`, { cause: error });
  }
}

async function startDaemon(place: Place, env: Docker["env"], signal: AbortSignal): Promise<void> {
  const { folder, netns } = place;
  const mtu = (await readFile(join(folder, "mtu"), "utf8")).trim();
  const log = openSync(join(folder, "log"), "a");
  const runtime = join(import.meta.dirname, "node/runc-less");
  const child = spawn(
    // Not `ip netns exec`: that hides the cgroups under /sys.
    "nsenter",
    [
      ...[`--net=/run/netns/${netns}`, "dockerd", "--host", env.DOCKER_HOST ?? "", "--mtu", mtu],
      ...["--pidfile", join(folder, "pid"), "--data-root", join(folder, "data"), "--exec-root", join(folder, "run")],
      ...["--add-runtime", `less=${runtime}`, "--default-runtime", "less"],
    ],
    { detached: true, stdio: ["ignore", log, log] },
  );
  closeSync(log);
  child.unref();
  const gone = new Promise<true>((resolve) => child.once("exit", () => resolve(true)));
  for (let tries = 0; tries < 200; tries += 1) {
    if ((await serverVersion(env, signal)) !== undefined) return;
    if (await Promise.race([gone, sleep(systemClock, 250, signal)])) break;
  }
  const last = (await readFile(join(folder, "log"), "utf8")).trim().split("\n").at(-1) ?? "";
  if (FORBIDDEN.test(last)) throw new Unavailable(`Docker cannot run on this machine: ${last}. ${HOW_TO_GET_ONE}.`);
  throw new Error(`the Docker daemon does not come up: ${last}`);
}

/** Ends daemons whose process is gone; those that `--keep` left only with `kept`. */
export async function endAbandonedDaemons({ kept }: { readonly kept: boolean }, signal: AbortSignal): Promise<number> {
  const pids = abandoned("docker", { kept });
  for (const pid of pids) {
    signal.throwIfAborted();
    await end(placeOf(pid));
  }
  return pids.length;
}

async function end(place: Place): Promise<void> {
  const script = `
    pid=$(cat "$FOLDER/pid" 2>/dev/null || true)
    if [ -n "$pid" ] && kill "$pid" 2>/dev/null; then
      for _ in $(seq 150); do kill -0 "$pid" 2>/dev/null || break; sleep 0.2; done
      kill -9 "$pid" 2>/dev/null || true
    fi
    ip link delete "$CABLE" 2>/dev/null || true
    ip netns delete "$NETNS" 2>/dev/null || true
    while iptables -w -t nat -D POSTROUTING -s "$THEIRS" ! -o "$CABLE" -j MASQUERADE 2>/dev/null; do :; done
    # The machine's own setting, unless another daemon of ours still needs it.
    if [ -e "$FOLDER/ip-forward-before" ] && ! ip netns list | grep -q ^sallyport-; then
      cat "$FOLDER/ip-forward-before" > /proc/sys/net/ipv4/ip_forward
    fi
    sed -nE "s#^\\S+ ($FOLDER/\\S+) .*#\\1#p" /proc/mounts | sort -r | xargs -r umount -l 2>/dev/null || true`;
  // Without a signal: must not be stopped in the middle.
  await bash(script, { env: environmentOf(place), timeoutMs: 60_000 }, new AbortController().signal);
  await rm(place.folder, { recursive: true, force: true, maxRetries: 3 });
}

function environmentOf({ folder, netns, cable, ours, theirs }: Place): Readonly<Record<string, string>> {
  return { FOLDER: folder, NETNS: netns, CABLE: cable, OURS: ours, THEIRS: theirs };
}
