import { readFile } from "node:fs/promises";
import { Typed } from "../../integration/debug/typed.ts";
import { eventually } from "../../world/wait.ts";
import { soon } from "../cast.ts";
import { type Answer, answer, bash, command } from "../command.ts";
import type { Scene } from "../scene.ts";

/** As kind starts a node; with its labels, so that kind deletes it with the cluster of a run that was killed. */
const START = [
  ...["--detach", "--privileged", "--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined"],
  ...["--cgroupns", "private", "--tmpfs", "/tmp", "--tmpfs", "/run", "--volume", "/var"],
  ...["--volume", "/lib/modules:/lib/modules:ro", "--network", "kind", "--label", "io.x-k8s.kind.role=worker"],
];

/**
 * What its administrator has done before it joins: programs and images are there. Two things of the machine below show
 * through, swap and how full its disk is; and one who is root already may have no sudo.
 */
const PREPARE = `
  systemctl start containerd
  command -v sudo >/dev/null || { printf '#!/bin/sh\\nexec "$@"\\n' >/usr/local/bin/sudo; chmod 755 /usr/local/bin/sudo; }
  [ "$(sed 1d /proc/swaps | wc -l)" = 0 ] || mount --bind /dev/null /proc/swaps
  mkdir -p /etc/kubernetes/kubelet.conf.d
  cat >/etc/kubernetes/kubelet.conf.d/20-shared-disk.conf <<'END'
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failSwapOn: false
evictionHard: { memory.available: 100Mi, nodefs.available: 0%, nodefs.inodesFree: 0%, imagefs.available: 0% }
END`;

/** A Linux machine beside the cluster: containerd and kubelet, no credential, and nothing of kubeadm's. */
export class Box {
  readonly #scene: Scene;
  readonly name: string;
  /** Of the container. */
  readonly #container: string;

  private constructor(scene: Scene, name: string) {
    this.#scene = scene;
    this.name = name;
    this.#container = `${scene.cluster.name}-${name}`;
  }

  static async start(scene: Scene, name: string, signal: AbortSignal): Promise<Box> {
    const box = new Box(scene, name);
    const { cluster, docker, image } = scene;
    const inspect = ["inspect", "--format", "{{.Config.Image}}", `${cluster.name}-control-plane`];
    const node = (await command("docker", inspect, { env: docker }, signal)).trim();
    const own = ["--hostname", name, "--name", box.#container, "--label", `io.x-k8s.kind.cluster=${cluster.name}`];
    await command("docker", ["run", ...START, ...own, node], { env: docker }, signal);
    await eventually(
      () => box.tries("systemctl list-units >/dev/null"),
      ({ code }) => code === 0,
    );
    await box.run(PREPARE);
    const env = { ...docker, CONTAINER: box.#container, IMAGE: image.name };
    const bring =
      'docker save "$IMAGE" | docker exec -i "$CONTAINER" ctr --namespace k8s.io images import - >/dev/null';
    await bash(bring, { env }, signal);
    return box;
  }

  /** Runs a line as root, at home. @throws Error when it fails */
  run(line: string, stdin?: string): Promise<string> {
    return command("docker", this.#exec(line), this.#options(stdin), soon());
  }

  /** The same; a failure is in the answer. */
  tries(line: string): Promise<Answer> {
    return answer("docker", this.#exec(line), this.#options(), soon());
  }

  /** Starts a line that goes on. */
  begin(line: string): Typed {
    return new Typed("docker", this.#exec(line), { ...process.env, ...this.#scene.docker });
  }

  /** Puts a file into root's home, for root alone. */
  async bring(file: string, as: string): Promise<void> {
    await this.run(`umask 077; cat >./${as}`, await readFile(file, "utf8"));
  }

  async restart(): Promise<void> {
    await command("docker", ["restart", "--time", "5", this.#container], this.#options(), soon());
  }

  async remove(): Promise<void> {
    await command("docker", ["rm", "--force", "--volumes", this.#container], this.#options(), soon());
  }

  #exec(line: string): readonly string[] {
    return ["exec", "--interactive", "--workdir", "/root", this.#container, "sh", "-c", line];
  }

  #options(stdin?: string) {
    return { env: this.#scene.docker, ...(stdin !== undefined && { stdin }) };
  }
}
