import type { Client } from "../../../../src/kube/client/client.ts";
import { resources } from "../../../../src/kube/objects/resource.ts";
import type { Seen, World } from "./world.ts";

/** What becomes of a container, named by its image: `play/<word>`. */
type Status = Readonly<Record<string, unknown>>;

const now = (): string => `${new Date().toISOString().slice(0, 19)}Z`;
const condition = (type: string, isTrue: boolean, reason?: string): Status => ({
  type,
  status: isTrue ? "True" : "False",
  lastTransitionTime: now(),
  ...(reason !== undefined && { reason }),
});
const conditions = (ready: boolean): readonly Status[] => [
  condition("Initialized", true),
  condition("Ready", ready, ready ? undefined : "ContainersNotReady"),
  condition("ContainersReady", ready, ready ? undefined : "ContainersNotReady"),
  condition("PodScheduled", true),
];
const ended = (reason: string, exitCode: number): Status => ({
  terminated: { exitCode, reason, startedAt: now(), finishedAt: now() },
});
const container = (more: Status): Status => ({
  name: "main",
  image: "play",
  imageID: "",
  ready: false,
  restartCount: 0,
  ...more,
});
const waiting = (phase: string, reason: string, more: Status = {}): Status => ({
  phase,
  conditions: conditions(false),
  containerStatuses: [container({ state: { waiting: { reason, message: `as ${reason} would say` } }, ...more })],
});

/** The statuses that a kubelet would write. */
const STATUSES: Readonly<Record<string, () => Status>> = {
  ready: () => ({
    phase: "Running",
    conditions: conditions(true),
    containerStatuses: [container({ ready: true, started: true, state: { running: { startedAt: now() } } })],
  }),
  unready: () => ({
    phase: "Running",
    conditions: conditions(false),
    containerStatuses: [container({ started: true, state: { running: { startedAt: now() } } })],
  }),
  crash: () =>
    waiting("Running", "CrashLoopBackOff", { restartCount: 4, lastState: ended("Error", 1), started: false }),
  oom: () => waiting("Running", "CrashLoopBackOff", { restartCount: 14, lastState: ended("OOMKilled", 137) }),
  "oom-once": () => ({
    phase: "Running",
    conditions: conditions(true),
    containerStatuses: [
      container({
        ready: true,
        restartCount: 1,
        state: { running: { startedAt: now() } },
        lastState: ended("OOMKilled", 137),
      }),
    ],
  }),
  starting: () => waiting("Pending", "ContainerCreating"),
  "pull-back-off": () => waiting("Pending", "ImagePullBackOff"),
  "pull-error": () => waiting("Pending", "ErrImagePull"),
  "bad-name": () => waiting("Pending", "InvalidImageName"),
  "config-error": () => waiting("Pending", "CreateContainerConfigError"),
  "create-error": () => waiting("Pending", "CreateContainerError"),
  "run-error": () => waiting("Pending", "RunContainerError"),
  complete: () => ({
    phase: "Succeeded",
    conditions: conditions(false),
    containerStatuses: [container({ state: ended("Completed", 0) })],
  }),
  fail: () => ({
    phase: "Failed",
    conditions: conditions(false),
    containerStatuses: [container({ state: ended("Error", 3) })],
  }),
  evicted: () => ({
    phase: "Failed",
    reason: "Evicted",
    message: "The node was low on resource: memory.",
    conditions: [
      { ...condition("DisruptionTarget", true, "TerminationByKubelet"), message: "The node was low on resource" },
      ...conditions(false),
    ],
    containerStatuses: [container({ state: ended("Error", 137) })],
  }),
};

/** Pods with this label are never removed by the kubelet, as on a node that went away. */
export const LINGERS = "lingers";

/** Plays the kubelets of all nodes: statuses by image, removal after deletion. */
export class Kubelets {
  readonly #client: Client;
  readonly #world: World;
  readonly #signal: AbortSignal;
  readonly #answered = new Set<string>();
  readonly #removed = new Set<string>();
  readonly #nodes = new Set<string>();

  constructor(client: Client, world: World, signal: AbortSignal) {
    this.#client = client;
    this.#world = world;
    this.#signal = signal;
  }

  async addNode(name: string, labels: Readonly<Record<string, string>> = {}): Promise<void> {
    const room = { cpu: "64", memory: "256Gi", pods: "1000" };
    await this.#client.create(
      resources.nodes,
      {
        apiVersion: "v1",
        kind: "Node",
        metadata: { name, labels: { "kubernetes.io/hostname": name, ...labels } },
        status: { allocatable: room, capacity: room, conditions: this.#nodeConditions() },
      },
      this.#signal,
    );
    this.#nodes.add(name);
  }

  /** Until the signal: keeps nodes ready and answers for pods. */
  async run(): Promise<void> {
    for (let round = 0; !this.#signal.aborted; round += 1) {
      if (round % 100 === 0) for (const node of this.#nodes) await this.#beat(node);
      for (const pod of this.#world.list("Pod")) await this.#answer(pod);
      await this.#world.pause(100);
    }
  }

  async report(pod: Seen, word: string): Promise<void> {
    const status = STATUSES[word]?.();
    if (status === undefined) throw new Error(`no status ${word}`);
    const { name, namespace } = pod.metadata;
    const body = { status: { startTime: pod.status?.startTime ?? now(), ...status } };
    await this.#client
      .patch(resources.pods, { name, namespace }, { type: "merge", body }, { subresource: "status" }, this.#signal)
      .catch(ignoreAbsent);
  }

  async #answer(pod: Seen): Promise<void> {
    const { metadata, spec } = pod;
    if (spec?.nodeName === undefined) return;
    if (metadata.deletionTimestamp !== undefined) {
      // A moment later, so that the state in between is seen.
      if (metadata.labels?.[LINGERS] !== undefined || this.#removed.has(metadata.uid)) return;
      this.#removed.add(metadata.uid);
      await this.#world.pause(100);
      const { name, namespace } = metadata;
      await this.#client.delete(resources.pods, { name, namespace }, { gracePeriodSeconds: 0 }, this.#signal);
      return;
    }
    if (this.#answered.has(metadata.uid)) return;
    this.#answered.add(metadata.uid);
    const [{ image = "" } = {}] = (spec.containers ?? []) as readonly { readonly image?: string }[];
    const word = image.slice("play/".length).split(":")[0] ?? "";
    if (word !== "silent") await this.report(pod, word);
  }

  async #beat(node: string): Promise<void> {
    const body = { status: { conditions: this.#nodeConditions() } };
    await this.#client.patch(
      resources.nodes,
      { name: node },
      { type: "merge", body },
      { subresource: "status" },
      this.#signal,
    );
  }

  #nodeConditions(): readonly Status[] {
    return [{ ...condition("Ready", true, "KubeletReady"), lastHeartbeatTime: now() }];
  }
}

function ignoreAbsent(error: unknown): void {
  if (error instanceof Error && "status" in error) return;
  throw error;
}
