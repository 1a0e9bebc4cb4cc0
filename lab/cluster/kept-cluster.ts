import { readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { sleep, systemClock } from "../../src/base/clock.ts";
import { type Cluster, type ClusterOptions, type Manifest, startCluster } from "./cluster.ts";
import { deletionOf, type EtcdWrite, putOf, readRevisions, readValues, transact } from "./etcd-store.ts";
import { allPoliciesInForce, ownParamsFound } from "./policies-in-force.ts";

/** The users with tokens of each kept cluster: its API server reads them once, at its start. */
const KEPT_TOKEN_USERS = [
  { user: "nobody" },
  { user: "someone" },
  { user: "other-admin", groups: ["system:masters"] },
] as const;

/** Folders of etcd for the kinds that can be held. Theirs are the names that the API server has for them. */
const FOLDERS: Readonly<Record<string, string>> = {
  CustomResourceDefinition: "apiextensions.k8s.io/customresourcedefinitions",
  ClusterRole: "clusterroles",
  ClusterRoleBinding: "clusterrolebindings",
  ConfigMap: "configmaps",
  MutatingAdmissionPolicy: "mutatingadmissionpolicies",
  MutatingAdmissionPolicyBinding: "mutatingadmissionpolicybindings",
  Namespace: "namespaces",
  Role: "roles",
  RoleBinding: "rolebindings",
  Secret: "secrets",
  ServiceAccount: "serviceaccounts",
  ValidatingAdmissionPolicy: "validatingadmissionpolicies",
  ValidatingAdmissionPolicyBinding: "validatingadmissionpolicybindings",
};

/** Kinds of the API server's own that our policies have as parameters, as apiVersion and kind. */
const PARAM_KINDS = [
  ["v1", "ConfigMap"],
  ["v1", "PersistentVolumeClaim"],
  ["v1", "Secret"],
  ["v1", "ServiceAccount"],
  ["apps/v1", "StatefulSet"],
] as const;

/** What the control plane writes for itself, when it likes. */
const OWN = [
  "/registry/apiregistration.k8s.io/",
  "/registry/configmaps/kube-system/",
  "/registry/flowschemas/",
  "/registry/leases/kube-node-lease/",
  "/registry/leases/kube-system/",
  "/registry/masterleases/",
  "/registry/prioritylevelconfigurations/",
  "/registry/serviceaccounts/kube-system/",
];
const OWN_OF_EACH_NAMESPACE =
  /^\/registry\/(configmaps|serviceaccounts)\/(default|kube-\w+)\/(kube-root-ca\.crt|default)$/;

const MOST_ROUNDS = 5;

interface Content {
  readonly value: string;
  /** Of its last write. Another one means that a test has written. */
  revision: string;
}

/**
 * A control plane that serves one test file after the other. To start one and to install our policies takes 17 to 20 CPU
 * seconds, most of it to compile the policies; to put it back takes 0.03, because what the next file holds too is left alone.
 * It is put back through etcd, below admission and finalizers: whatever a file has left goes, whatever it has changed returns.
 */
export class KeptCluster {
  readonly cluster: Cluster;
  readonly #bare: ReadonlyMap<string, Content>;
  /** By the manifest's JSON: what the API server stored for it. */
  readonly #known = new Map<string, ReadonlyMap<string, Content>>();
  readonly #files: ReadonlySet<string>;

  private constructor(cluster: Cluster, bare: ReadonlyMap<string, Content>) {
    this.cluster = cluster;
    this.#bare = bare;
    this.#files = new Set(readdirSync(cluster.dir));
  }

  /** @param held of the first file */
  static async start(options: ClusterOptions, held: readonly Manifest[], signal: AbortSignal): Promise<KeptCluster> {
    const cluster = await startCluster({ ...options, tokenUsers: KEPT_TOKEN_USERS }, signal);
    try {
      return await KeptCluster.#learned(cluster, held, signal);
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  static async #learned(cluster: Cluster, held: readonly Manifest[], signal: AbortSignal): Promise<KeptCluster> {
    const definitions = held.filter(({ kind }) => kind === "CustomResourceDefinition");
    // First: the API server looks up kinds when the first policy has a parameter, and then each half minute.
    await cluster.apply(definitions, signal);
    await cluster.apply(PARAM_KINDS.flatMap(readParams), signal);
    await allPoliciesInForce((call, during) => cluster.request(call, during), signal);
    const ofDefinitions = new Set(definitions.flatMap(keysOf));
    const keys = [...(await readRevisions(cluster.etcd, signal)).keys()].filter((key) => !ofDefinitions.has(key));
    const kept = new KeptCluster(cluster, await readValues(cluster.etcd, keys, signal));
    await kept.#learn(definitions, signal);
    return kept;
  }

  /** False: one of its programs has ended, and nothing can be put back. */
  get isRunning(): boolean {
    const { apiserver, etcd } = this.cluster.programs;
    return apiserver.isRunning && etcd.isRunning;
  }

  /** Puts the cluster back: it has what it began with, and `held`. */
  async hold(held: readonly Manifest[], signal: AbortSignal): Promise<void> {
    const { cluster } = this;
    const unknown = held.filter((manifest) => !this.#known.has(JSON.stringify(manifest)));
    const known = held.flatMap((manifest) => this.#known.get(JSON.stringify(manifest)) ?? []);
    const wanted = new Map([...this.#bare, ...known.flatMap((contents) => [...contents])]);
    // A controller may have written between the reading and the last deletion: a pod in place of one that is gone, say.
    for (let round = 0; round < MOST_ROUNDS && (await this.#putBack(wanted, signal)); round += 1);
    cluster.held = new Set();
    await cluster.apply(unknown, signal);
    await this.#learn(unknown, signal);
    cluster.held = new Set(held.map((manifest) => JSON.stringify(manifest)));
    await ownParamsFound(held, (call, during) => cluster.request(call, during), signal);
    const left = readdirSync(cluster.dir).filter((name) => !this.#files.has(name));
    for (const name of left) await rm(join(cluster.dir, name), { recursive: true, force: true });
  }

  async #learn(manifests: readonly Manifest[], signal: AbortSignal): Promise<void> {
    for (const manifest of manifests) {
      const keys = keysOf(manifest);
      let contents = await readValues(this.cluster.etcd, keys, signal);
      // A namespace's account is made by a controller, a moment later.
      while (contents.size < keys.length) {
        const missing = keys.filter((key) => !contents.has(key));
        await sleep(systemClock, 20, signal).catch((cause: unknown) => {
          throw new Error(`etcd lacks ${missing}`, { cause });
        });
        contents = await readValues(this.cluster.etcd, keys, signal);
      }
      this.#known.set(JSON.stringify(manifest), contents);
    }
  }

  /** @returns whether anything differed */
  async #putBack(wanted: ReadonlyMap<string, Content>, signal: AbortSignal): Promise<boolean> {
    const { etcd } = this.cluster;
    const there = await readRevisions(etcd, signal);
    const gone = [...there.keys()].filter((key) => !wanted.has(key) && !isOwn(key));
    const changed = [...wanted].filter(([key, { revision }]) => there.get(key) !== revision && !isOwn(key));
    const writes: EtcdWrite[] = gone.map(deletionOf);
    for (const [key, { value }] of changed) writes.push(putOf(key, value));
    if (writes.length === 0) return false;
    await transact(etcd, writes, signal);
    const written = await readValues(
      etcd,
      changed.map(([key]) => key),
      signal,
    );
    for (const [key, content] of changed) content.revision = written.get(key)?.revision ?? "";
    const keys = [...gone, ...changed.map(([key]) => key)];
    await this.#definitionsServed(keys, wanted, signal);
    // Roles have no sign of their own. They are read as policies are, and these are compiled as well.
    if (keys.some((key) => key.includes("admissionpolic") || /^\/registry\/(cluster)?role/.test(key)))
      await allPoliciesInForce((call, during) => this.cluster.request(call, during), signal);
    return true;
  }

  /** The API server serves a kind a moment after it has read its definition, and for a moment after it is gone. */
  async #definitionsServed(
    keys: readonly string[],
    wanted: ReadonlyMap<string, Content>,
    signal: AbortSignal,
  ): Promise<void> {
    const folder = `/registry/${FOLDERS.CustomResourceDefinition}/`;
    for (const key of keys.filter((each) => each.startsWith(folder))) {
      const [, plural = "", group = ""] = /^([^.]+)\.(.+)$/.exec(key.slice(folder.length)) ?? [];
      const isServed = async () => {
        const { status, body } = await this.cluster.request({ path: `/apis/${group}` }, signal);
        if (status !== 200) return false;
        const { versions } = body as { readonly versions: readonly { readonly groupVersion: string }[] };
        const answers = versions.map(({ groupVersion }) =>
          this.cluster.request({ path: `/apis/${groupVersion}/${plural}?limit=1` }, signal),
        );
        return (await Promise.all(answers)).some((answer) => answer.status === 200);
      };
      while ((await isServed()) !== wanted.has(key)) await sleep(systemClock, 20, signal);
    }
  }

  /** Whether a cluster that was started with these options would be the same. */
  static serves(options: ClusterOptions): boolean {
    const { controllers: _, kwok, tokenUsers = [], ...others } = options;
    const isKnown = (user: object) => KEPT_TOKEN_USERS.some((each) => isDeepStrictEqual(each, user));
    return Object.keys(others).length === 0 && (kwok === undefined || kwok.nodes === 1) && tokenUsers.every(isKnown);
  }
}

/**
 * A policy that judges nothing and has objects of a kind as parameters. The API server reads parameters of a kind for as long
 * as a binding asks for them, and once none does never again until it restarts: then the policies of the next file that have
 * such parameters would let everything through (kubernetes#130887).
 */
function readParams([apiVersion, kind]: readonly [apiVersion: string, kind: string]): readonly Manifest[] {
  const name = `lab-params-${kind.toLowerCase()}`;
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["replicationcontrollers"] };
  const matching = {
    matchConstraints: { resourceRules: [rule] },
    matchConditions: [{ name: "never", expression: "false" }],
  };
  const paramRef = { selector: {}, parameterNotFoundAction: "Allow" };
  const group = { apiVersion: "admissionregistration.k8s.io/v1", metadata: { name } };
  return [
    {
      ...{ ...group, kind: "ValidatingAdmissionPolicy" },
      spec: { paramKind: { apiVersion, kind }, ...matching, validations: [{ expression: "true" }] },
    },
    {
      ...{ ...group, kind: "ValidatingAdmissionPolicyBinding" },
      spec: { policyName: name, paramRef, validationActions: ["Deny"] },
    },
  ];
}

function isOwn(key: string): boolean {
  return OWN.some((prefix) => key.startsWith(prefix)) || OWN_OF_EACH_NAMESPACE.test(key);
}

/** @returns where the API server stores what it makes of a manifest */
function keysOf({ kind, metadata }: Manifest): readonly string[] {
  const folder = FOLDERS[String(kind)];
  if (folder === undefined) throw new Error(`a kept cluster cannot hold a ${kind}: apply it in the test's file`);
  const { name, namespace } = metadata as { readonly name: string; readonly namespace?: string };
  const key = `/registry/${folder}/${namespace === undefined ? "" : `${namespace}/`}${name}`;
  return kind === "Namespace" ? [key, `/registry/serviceaccounts/${name}/default`] : [key];
}
