import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Cluster, startCluster } from "../../../lab/cluster/cluster.ts";
import type { Program } from "../../../lab/cluster/program.ts";
import { newContent, newRollout } from "../../../src/agent/releases/release-objects.ts";
import { sleep, systemClock } from "../../../src/base/clock.ts";
import { DEFAULT_NAMES } from "../../../src/crds/group.ts";
import { managedDeployments } from "../../../src/crds/kinds/managed-deployment.ts";
import { type ReleaseContent, type ReleaseObject, releaseContents } from "../../../src/crds/kinds/release-content.ts";
import { FINAL_ROLLOUT_STATES, type Rollout, type RolloutAction, rollouts } from "../../../src/crds/kinds/rollout.ts";
import { defaultPolicy } from "../../../src/crds/manifests/default-policy.ts";
import { openNamespaceToReleases, openReleases } from "../../../src/crds/manifests/installation.ts";
import { DEPLOYMENT_ID_LABEL } from "../../../src/crds/release-names.ts";
import type { Informer } from "../../../src/kube/cache/informer.ts";
import type { Client } from "../../../src/kube/client/client.ts";
import { type KubeObject, resources } from "../../../src/kube/objects/resource.ts";
import { install } from "../../world/installation.ts";
import { ours } from "../../world/objects.ts";
import { GRANTS, People, SHOP } from "../../world/people.ts";
import { inPod } from "../machines/in-pod.ts";
import { watched } from "../watched.ts";
import { releaseIdOf } from "./objects.ts";

export const DEPLOYMENT_ID = `dep_${"0".repeat(27)}1`;
const NODES = 4;
/** A rollout that takes longer is a failure of the benchmark. */
const LIMIT_MS = 600_000;
const AUDIT_POLICY = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules: [{ level: Metadata }]
`;
/** Kinds of {@link mixedResources}. */
const KINDS = "deployments,services,serviceaccounts,configmaps";

interface Workload extends KubeObject {
  readonly spec: { readonly replicas?: number };
  readonly status?: { readonly readyReplicas?: number };
}

/** Seconds since it was asked for, of one rollout. */
export interface Course {
  /** The first time that each state was seen; of `Gating` the last wave's. */
  readonly states: Readonly<Record<string, number>>;
  /** The last pod became ready, as its Deployment says. */
  readonly ready: number;
  readonly ended: number;
  readonly rollout: Rollout;
}

/** A cluster with controllers, simulated nodes and a real operator; releases run by themselves. */
export class ReleaseWorld {
  readonly cluster: Cluster;
  readonly operator: Program;
  readonly admin: Client;
  readonly #rollouts: Informer<Rollout>;
  readonly #workloads: Informer<Workload>;
  readonly #auditFile: string;
  readonly #signal: AbortSignal;
  #made = 0;

  private constructor(
    parts: {
      readonly cluster: Cluster;
      readonly operator: Program;
      readonly admin: Client;
      readonly auditFile: string;
    },
    informers: { readonly rollouts: Informer<Rollout>; readonly workloads: Informer<Workload> },
    signal: AbortSignal,
  ) {
    this.cluster = parts.cluster;
    this.operator = parts.operator;
    this.admin = parts.admin;
    this.#auditFile = parts.auditFile;
    this.#rollouts = informers.rollouts;
    this.#workloads = informers.workloads;
    this.#signal = signal;
  }

  static async start(
    stack: AsyncDisposableStack,
    withPods: boolean,
    say: (line: string) => void,
    signal: AbortSignal,
  ): Promise<ReleaseWorld> {
    const { cluster, auditFile } = await releaseCluster(stack, withPods, say, signal);
    const admin = await stack.use(new People(cluster)).admin();
    const managed = ours("ManagedDeployment", DEPLOYMENT_ID, { deploymentId: DEPLOYMENT_ID, name: "shop" });
    await admin.create(managedDeployments, managed, signal);
    const operator = await inPod(stack, cluster, "operator", DEFAULT_NAMES.operatorAccount, OPERATOR_ENV, signal);
    const informers = {
      rollouts: await watched<Rollout>(stack, admin, rollouts, GRANTS, signal),
      workloads: await watched<Workload>(stack, admin, resources.deployments, SHOP, signal),
    };
    return new ReleaseWorld({ cluster, operator, admin, auditFile }, informers, signal);
  }

  /** One release from the agent's two writes to its end. */
  async roll(objects: readonly ReleaseObject[], action: RolloutAction, version: string): Promise<Course> {
    this.#made += 1;
    const of = { deploymentId: DEPLOYMENT_ID, releaseId: releaseIdOf(version), version, configHash: "c".repeat(64) };
    const content = newContent({ ...of, objects }, GRANTS);
    const rolloutId = `duop_${String(this.#made).padStart(28, "0")}`;
    const now = new Date();
    const wish = { rolloutId, action, requestedAt: now.toISOString(), releaseId: of.releaseId };
    const rollout = newRollout(wish as Parameters<typeof newRollout>[0], DEPLOYMENT_ID, content, GRANTS, now);
    const key = `${GRANTS}/${rollout.metadata.name}`;
    const startedMs = performance.now();
    const seconds = (): number => (performance.now() - startedMs) / 1_000;
    const states: Record<string, number> = {};
    let ready = 0;
    const ended = Promise.withResolvers<void>();
    const removers = [
      this.#rollouts.onChange(({ object: { metadata, status } }) => {
        if (metadata.name !== rollout.metadata.name || status === undefined) return;
        const state = status.state === "Gating" ? `Gating ${status.waveOf}` : (status.state ?? "");
        states[state] ??= seconds();
        if (isFinal(status.state)) ended.resolve();
      }),
      this.#workloads.onChange(({ object }) => {
        if (isReady(object)) ready = seconds();
      }),
    ];
    const late = setTimeout(() => ended.reject(new Error(`${key} has not ended`)), LIMIT_MS);
    try {
      if ((await this.admin.get(releaseContents, content.metadata, this.#signal)) === undefined) {
        await this.admin.create<ReleaseContent>(releaseContents, content, this.#signal);
      }
      await this.admin.create<Rollout>(rollouts, rollout, this.#signal);
      await ended.promise;
    } finally {
      clearTimeout(late);
      for (const remove of removers) remove();
    }
    const found = this.#rollouts.store.get(key);
    if (found?.status?.state !== "Succeeded") throw new Error(JSON.stringify(found?.status));
    return { states, ready, ended: seconds(), rollout: found };
  }

  /** Versions of all members, by kind and name. */
  async versions(): Promise<ReadonlyMap<string, string>> {
    const args = ["get", KINDS, "-n", SHOP, "-l", DEPLOYMENT_ID_LABEL, "-o", "json"];
    const { items } = JSON.parse(await this.kubectl(args)) as {
      readonly items: readonly (KubeObject & { kind: string })[];
    };
    return new Map(items.map(({ kind, metadata }) => [`${kind}/${metadata.name}`, metadata.resourceVersion]));
  }

  /** Whatever was installed goes, and with it what the operator knows of it. */
  async clean(): Promise<void> {
    await this.kubectl(["delete", "rollouts,releasecontents", "--all", "-n", GRANTS, "--wait=true"]);
    await this.kubectl(["delete", KINDS, "-n", SHOP, "-l", DEPLOYMENT_ID_LABEL, "--wait=true"]);
    const pods = async (): Promise<string> => this.kubectl(["get", "pods,replicasets", "-n", SHOP, "-o", "name"]);
    while ((await pods()).trim() !== "") await sleep(systemClock, 500, this.#signal);
  }

  async kubectl(args: readonly string[], stdin = ""): Promise<string> {
    const limits = { signal: this.#signal, limitMs: LIMIT_MS };
    const { code, stdout, stderr } = await this.cluster.kubectl(args, { stdin, ...limits });
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${stderr}`);
    return stdout;
  }

  /** Requests so far, of those whose line in the audit log has each of these texts. */
  async calls(...texts: readonly string[]): Promise<number> {
    const lines = (await readFile(this.#auditFile, "utf8")).split("\n");
    return lines.filter((line) => line !== "" && texts.every((text) => line.includes(text))).length;
  }
}

const OPERATOR_ENV = {
  SALLYPORT_RELEASES_ENABLED: "true",
  SALLYPORT_DEPLOYMENTS: `${DEPLOYMENT_ID}=${SHOP}`,
};

function isFinal(state: string | undefined): boolean {
  return FINAL_ROLLOUT_STATES.some((each) => each === state);
}

function isReady({ spec, status }: Workload): boolean {
  return (status?.readyReplicas ?? 0) === (spec.replicas ?? 1);
}

/**
 * Our installation on a cluster whose policy lets releases run by themselves.
 *
 * @param withPods with controllers and simulated nodes, which what has no pods does not need
 */
export async function releaseCluster(
  stack: AsyncDisposableStack,
  withPods: boolean,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<{ readonly cluster: Cluster; readonly auditFile: string }> {
  say(`releases: starting the API server${withPods ? ", its controllers and simulated nodes" : ""}`);
  const folder = await mkdtemp(join(tmpdir(), "sallyport-bench-releases-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const [policy, auditFile] = [join(folder, "audit-policy.yaml"), join(folder, "audit.jsonl")];
  await writeFile(policy, AUDIT_POLICY);
  const apiserverArgs = [`--audit-policy-file=${policy}`, `--audit-log-path=${auditFile}`];
  const pods = withPods ? { controllers: true, kwok: { nodes: NODES } } : {};
  const cluster = stack.use(await startCluster({ ...pods, apiserverArgs, log: say }, signal));
  const shipped = defaultPolicy();
  const rules = ["release/install", "release/update"].map((pattern) => ({ pattern, decision: "auto" }));
  const open = [...openReleases(), ...openNamespaceToReleases(SHOP)];
  await install(cluster, { more: [...open, { ...shipped, spec: { ...(shipped.spec as object), rules } }] }, signal);
  return { cluster, auditFile };
}
