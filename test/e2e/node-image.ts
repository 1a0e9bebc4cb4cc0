import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureCacheEntry } from "../../lab/cluster/cache-entry.ts";
import { cacheRoot } from "../../lab/cluster/cache-root.ts";
import { type Recipe, sourceRecipe } from "../../lab/cluster/go-build.ts";
import { KUBERNETES_VERSIONS, linkerFlags, NEWEST } from "../../lab/cluster/kubernetes-versions.ts";
import { ensureRecipe } from "../../lab/cluster/programs.ts";
import { BASE_SYSTEM, baseSystem, hasImage } from "./base-system.ts";
import { bash } from "./command.ts";
import type { Docker } from "./daemon.ts";

const SOURCE = join(import.meta.dirname, "node");

/** What `kind create cluster` v0.33.0 uses by default, where a registry can be reached. */
const KINDS_OWN = "kindest/node:v1.37.0@sha256:a1ed56cfb0e7b93589bdf97c8cd566405a265939e3620fc4f5de89adff580ae5";

const KUBERNETES_VERSION = KUBERNETES_VERSIONS[NEWEST];

/** kubeadm reads both parts of the version before it trusts it. */
const [MAJOR, MINOR] = KUBERNETES_VERSION.slice(1).split(".");
const VERSION_FLAGS = [
  linkerFlags(KUBERNETES_VERSION),
  `-X k8s.io/component-base/version.gitMajor=${MAJOR}`,
  `-X k8s.io/component-base/version.gitMinor=${MINOR}`,
  "-X k8s.io/component-base/version.gitTreeState=clean",
].join(" ");

/**
 * Name of an image for kind's nodes, in the daemon: `SALLYPORT_E2E_NODE_IMAGE`, or kind's own where it can be pulled, or
 * one made here from Debian's packages and the Kubernetes programs' Go modules, kept for the next run.
 */
export async function nodeImage(docker: Docker, say: (line: string) => void, signal: AbortSignal): Promise<string> {
  const named = process.env.SALLYPORT_E2E_NODE_IMAGE;
  if (named !== undefined && named !== "") return named;
  const key = await keyOfOurs();
  const image = `sallyport-e2e/node:${KUBERNETES_VERSION}-${key}`;
  if (await hasImage(docker, image, signal)) return image;
  const folder = join(cacheRoot(process.env), `node-image-${key}`);
  if (!existsSync(folder) && (await pulls(docker, KINDS_OWN, signal))) return KINDS_OWN;
  await ensureCacheEntry(
    {
      folder,
      async build(into, each) {
        await makeImage(docker, image, say, each);
        await docker.run(["save", "--output", join(into, "image.tar"), image], {}, each);
      },
      onWaiting: () => undefined,
    },
    signal,
  );
  if (!(await hasImage(docker, image, signal))) {
    say("loading the node image of an earlier run");
    await docker.run(["load", "--quiet", "--input", join(folder, "image.tar")], {}, signal);
  }
  return image;
}

async function pulls(docker: Docker, image: string, signal: AbortSignal): Promise<boolean> {
  try {
    await docker.run(["pull", "--quiet", image], { timeoutMs: 300_000 }, signal);
    return true;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

/** The cache key: a hash of everything that goes into the image. */
async function keyOfOurs(): Promise<string> {
  const hash = createHash("sha256").update([BASE_SYSTEM, VERSION_FLAGS, process.arch].join("\0"));
  const files = await readdir(SOURCE, { recursive: true, withFileTypes: true });
  const paths = files.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  for (const path of paths.sort()) hash.update(`${path.slice(SOURCE.length)}\0`).update(await readFile(path));
  return hash.digest("hex").slice(0, 12);
}

/** The programs of a node: kubelet, kubeadm, the control plane's in one, cluster DNS, and the pause program of pods. */
async function programs(say: (line: string) => void, signal: AbortSignal) {
  const recipe = (name: string, linkerFlags: string, title: string, expectation: string): Promise<Recipe> => {
    const source = join(SOURCE, name);
    return readdir(source).then((files) =>
      sourceRecipe({ name, source, files: files.sort(), linkerFlags, title, expectation }),
    );
  };
  const kubernetes = `the programs of a node (kubelet, kubeadm and the rest; ${KUBERNETES_VERSION})`;
  const once = (minutes: string): string => `${minutes} on 2 cores, once`;
  const kube = await ensureRecipe(
    await recipe("kube", VERSION_FLAGS, kubernetes, once("5 to 9 minutes")),
    { say },
    signal,
  );
  const dns = await ensureRecipe(await recipe("coredns", "-s -w", "CoreDNS", once("about 2 minutes")), { say }, signal);
  const pause = await ensureRecipe(await recipe("pause", "-s -w", "pause", once("seconds")), { say }, signal);
  return { KUBE: join(kube, "kube"), COREDNS: join(dns, "coredns"), PAUSE: join(pause, "pause") };
}

async function makeImage(docker: Docker, image: string, say: (line: string) => void, signal: AbortSignal) {
  const built = await programs(say, signal);
  const base = await baseSystem(docker, say, signal);
  say("putting the node image together: about a minute");
  const folder = await mkdtemp(join(tmpdir(), "sallyport-node-"));
  try {
    await cp(join(SOURCE, "image"), join(folder, "context"), { recursive: true });
    await mkdir(join(folder, "bin"));
    await writeFile(join(folder, "context", "version"), `${KUBERNETES_VERSION}\n`);
    const env = { ...docker.env, ...built, FOLDER: folder, BASE: base, IMAGE: image, KUBERNETES_VERSION };
    await bash(POD_IMAGES, { env }, signal);
    await bash(NODE_IMAGE, { env }, signal);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Images of the cluster's own pods, under the names that kubeadm asks for, so that nothing is ever pulled. One for all
 * Kubernetes programs: the binary under each name, and what kube-proxy and the pod network call.
 */
const POD_IMAGES = `
  cd "$FOLDER"
  for p in kubectl kubeadm; do ln -s "$KUBE" "bin/$p"; done
  mkdir -p kube/usr/local/bin kube/usr/sbin kube/tmp dns pause
  cp "$KUBE" kube/usr/local/bin/kube
  for p in kube-apiserver kube-controller-manager kube-scheduler kube-proxy etcd podnet; do ln -s kube "kube/usr/local/bin/$p"; done
  # iptables with its extensions, which are libraries of their own, and all that these are linked to.
  docker run --rm "$BASE" bash -euc '
    cd /; own="usr/sbin/xtables-nft-multi usr/sbin/nft $(ls -d usr/lib/*/xtables)"
    libs=$(ldd usr/sbin/xtables-nft-multi usr/sbin/nft usr/lib/*/xtables/*.so | grep -oE "/\\S+" | grep -v ":$" | sort -u)
    tar -ch --hard-dereference $own $libs 2>/dev/null' | tar -x -C kube
  for p in iptables ip6tables; do for s in "" -save -restore; do ln -s xtables-nft-multi "kube/usr/sbin/$p$s"; done; done
  cp "$COREDNS" dns/coredns; cp "$PAUSE" pause/pause
  pack() { tar -C "$1" --owner=0 --group=0 -c . | docker import "\${@:3}" - "$2" >/dev/null; }
  pack kube "node.local/kube:$KUBERNETES_VERSION" --change 'ENV PATH=/usr/local/bin:/usr/sbin'
  pack dns node.local/coredns --change 'ENTRYPOINT ["/coredns"]'
  pack pause node.local/pause --change 'ENTRYPOINT ["/pause"]'
  echo "node.local/kube:$KUBERNETES_VERSION" >names
  for n in $(bin/kubeadm config images list --kubernetes-version "$KUBERNETES_VERSION" 2>/dev/null); do
    case $n in
      */coredns:*) docker tag node.local/coredns "$n" ;;
      */pause:*) docker tag node.local/pause "$n"; echo "$n" >pause-name ;;
      *) docker tag "node.local/kube:$KUBERNETES_VERSION" "$n" ;;
    esac
    echo "$n" >>names
  done`;

/** The node itself, with those images in its containerd: runs it once and keeps the result. */
const NODE_IMAGE = `
  cd "$FOLDER"
  cp "$KUBE" context/kube
  sed -i "s#@PAUSE@#$(cat pause-name)#" context/containerd.toml
  sed -i "s#@KUBE@#node.local/kube:$KUBERNETES_VERSION#" context/default-cni.yaml
  DOCKER_BUILDKIT=0 docker build --quiet --build-arg "BASE=$BASE" --tag node.local/plain context >/dev/null 2>&1
  c=$(docker run --detach --privileged --entrypoint containerd node.local/plain)
  trap 'docker rm --force --volumes "$c" >/dev/null' EXIT
  for _ in $(seq 100); do docker exec "$c" ctr version >/dev/null 2>&1 && break; sleep 0.2; done
  docker save $(cat names) | docker exec --interactive "$c" ctr --namespace k8s.io images import --no-unpack - >/dev/null
  docker stop "$c" >/dev/null
  docker commit --change 'ENTRYPOINT ["/usr/local/bin/entrypoint"]' "$c" "$IMAGE" >/dev/null
  docker rmi --force node.local/plain $(cat names) >/dev/null`;
