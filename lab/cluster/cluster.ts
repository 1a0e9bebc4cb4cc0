import { mkdirSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseAllDocuments } from "yaml";
import { type ApiAnswer, type ApiCall, type ApiCredentials, apiRequest } from "./api-request.ts";
import { CertificateAuthority, type KeyAndCertificate } from "./certificates.ts";
import {
  type ClusterPrograms,
  type ClusterUser,
  freePorts,
  layOut,
  type Ports,
  type TokenUser,
  withTokens,
} from "./control-plane.ts";
import { kubeconfigText } from "./kubeconfig.ts";
import { type KubectlOptions, type KubectlResult, kubectl } from "./kubectl.ts";
import { createDefaultAccount, createNodes, nodesReady } from "./nodes.ts";
import { policiesInForce } from "./policies-in-force.ts";
import { findPrograms, type Programs } from "./programs.ts";
import { Watchdog } from "./watchdog.ts";

export interface ClusterOptions {
  /** kube-controller-manager and kube-scheduler: Deployments get Pods, garbage is collected. @default false, 1 s and 200 MB less */
  readonly controllers?: boolean;
  /**
   * Simulated nodes whose Pods are ready at once. Pods come only with `controllers`, or with `spec.nodeName` set by you.
   * `leaseSeconds`: how long a node may be silent before it is not ready; it tells of itself four times as often. For a
   * thousand nodes 40, the default, are 100 writes a second.
   */
  readonly kwok?: { readonly nodes: number; readonly leaseSeconds?: number };
  /** Where certificates, data and logs go. @default a folder under the system's temporary one, removed by `stop()` */
  readonly dir?: string;
  /** Users with a bearer token instead of a certificate; see {@link Cluster.tokenFor}. Fixed at start. */
  readonly tokenUsers?: readonly ClusterUser[];
  /** More flags for kube-apiserver, such as `--audit-policy-file=…`. */
  readonly apiserverArgs?: readonly string[];
  /** Kubelets may do what is of their own node, as in real clusters. @default false: RBAC alone decides */
  readonly nodeAuthorizer?: boolean;
  /** Programs found before. @default looked for, and built when this machine has none */
  readonly programs?: Programs;
  /** Gets progress messages for people. @default silent, except for builds, which go to stderr */
  readonly log?: (line: string) => void;
}

export type Manifest = Readonly<Record<string, unknown>>;

/** A real API server with RBAC and admission on, on this machine, until `stop()`. */
export class Cluster implements AsyncDisposable {
  /** https://127.0.0.1:port */
  readonly server: string;
  /** For a benchmark's tens of thousands of objects; see etcd-store.ts. */
  readonly etcd: ApiCredentials;
  /** Issues for what stands behind the API server: etcd and kubelets answer its clients alone, no user of the cluster. */
  readonly backend: CertificateAuthority = new CertificateAuthority("sallyport test backend");
  /** Path of the certificate authority's PEM. */
  readonly caFile: string;
  readonly dir: string;
  /** Path of a kubeconfig that may do everything (group system:masters). */
  readonly adminKubeconfig: string;
  readonly programs: ClusterPrograms;
  readonly #authority = new CertificateAuthority("sallyport test cluster");
  readonly #admin: ApiCredentials;
  readonly #watchdog: Watchdog;
  readonly #options: ClusterOptions;
  readonly #tokenUsers: readonly TokenUser[];
  /** JSON of manifests that are in force already: {@link apply} leaves each out, once. */
  held: Set<string> = new Set();
  /** Path of the kubectl that fits the API server. */
  readonly kubectlPath: string;
  #kubeconfigs = 0;
  #stopped: Promise<void> | undefined;

  /** Use {@link startCluster}. */
  constructor(dir: string, found: Programs, ports: Ports, options: ClusterOptions) {
    this.dir = dir;
    this.server = `https://127.0.0.1:${ports.api}`;
    const ca = this.backend.certificate;
    this.etcd = { server: `https://127.0.0.1:${ports.etcd}`, ca, ...this.backend.issue({ commonName: "lab" }) };
    this.#options = options;
    this.#tokenUsers = withTokens(options.tokenUsers ?? []);
    this.kubectlPath = found.kubectl;
    mkdirSync(dir, { recursive: true });
    this.caFile = this.#write("ca.crt", this.#authority.certificate);
    this.#admin = this.#credentials({ user: "admin", groups: ["system:masters"] });
    this.adminKubeconfig = this.#write("admin.kubeconfig", kubeconfigText("admin", this.#admin));
    // When this process is killed, the watchdog removes the folder only if we made it.
    this.#watchdog = new Watchdog(options.dir === undefined ? dir : undefined);
    this.programs = layOut({
      dir,
      found,
      ports,
      authority: this.#authority,
      caFile: this.caFile,
      adminKubeconfig: this.adminKubeconfig,
      backend: this.backend,
      tokenUsers: this.#tokenUsers,
      apiserverArgs: options.apiserverArgs ?? [],
      leaseSeconds: options.kwok?.leaseSeconds ?? 40,
      nodeAuthorizer: options.nodeAuthorizer ?? false,
      watchdog: this.#watchdog,
      isApiReady: (signal) => this.#answersOk("/readyz", signal),
    });
  }

  /** Called once by {@link startCluster}. */
  async start(signal: AbortSignal): Promise<void> {
    const { etcd, apiserver, controllerManager, scheduler, kwok } = this.programs;
    // The API server waits for etcd by itself.
    etcd.spawn();
    await apiserver.start(signal);
    controllerManager?.spawn();
    scheduler?.spawn();
    if (controllerManager === undefined) await createDefaultAccount("default", (call) => this.request(call, signal));
    if (kwok !== undefined && this.#options.kwok !== undefined) {
      await createNodes(this.#options.kwok.nodes, (call) => this.request(call, signal));
      kwok.spawn();
      await nodesReady(this.#options.kwok.nodes, (call) => this.request(call, signal), kwok, signal);
    }
    await Promise.all([controllerManager?.whenReady(signal), scheduler?.whenReady(signal)]);
  }

  /** One request as admin, outside of any client under test. */
  request(call: ApiCall, signal: AbortSignal = AbortSignal.timeout(30_000)): Promise<ApiAnswer> {
    return apiRequest(this.#admin, call, signal);
  }

  /** Path of a kubeconfig of a user with a client certificate. RBAC decides what it may do: nothing at first. */
  kubeconfigFor(user: ClusterUser): string {
    return this.#writeKubeconfig(user.user, this.#credentials(user));
  }

  /** A client certificate of the cluster's authority, made at `now`; it is good for 30 days. */
  clientCertificate({ user, groups = [] }: ClusterUser, now?: Date): KeyAndCertificate {
    return this.#authority.issue({ commonName: user, organizations: groups, ...(now && { now }) });
  }

  /** Bearer token of one of `tokenUsers`. */
  tokenFor(user: string): string {
    const known = this.#tokenUsers.find((candidate) => candidate.user === user);
    if (known === undefined) throw new Error(`no token user ${user}: name it in ClusterOptions.tokenUsers`);
    return known.token;
  }

  /** A bound token of a ServiceAccount that exists. @param expirationSeconds default an hour, the server's least is 600 */
  async serviceAccountToken(
    namespace: string,
    name: string,
    expirationSeconds = 3600,
    signal?: AbortSignal,
  ): Promise<string> {
    const { status, body } = await this.request(
      {
        method: "POST",
        path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
        body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds } },
      },
      signal,
    );
    const token = (body as { status?: { token?: unknown } } | null)?.status?.token;
    if (status !== 201 || typeof token !== "string")
      throw new Error(`no token for ${namespace}/${name}: ${status} ${JSON.stringify(body)}`);
    return token;
  }

  /** Path of a kubeconfig that holds only a bound token of this ServiceAccount. */
  async kubeconfigForServiceAccount(
    namespace: string,
    name: string,
    expirationSeconds = 3600,
    signal?: AbortSignal,
  ): Promise<string> {
    const token = await this.serviceAccountToken(namespace, name, expirationSeconds, signal);
    return this.#writeKubeconfig(`${namespace}-${name}`, {
      server: this.server,
      ca: this.#authority.certificate,
      token,
    });
  }

  /** As admin by default. Does not throw when kubectl fails: look at `code`. */
  kubectl(args: readonly string[], options: KubectlOptions = {}): Promise<KubectlResult> {
    const cacheDir = join(this.dir, "kubectl-cache");
    return kubectl(this.kubectlPath, cacheDir, args, { kubeconfig: this.adminKubeconfig, ...options });
  }

  /**
   * Server-side apply as admin, of YAML text or objects, in order; waits until new CRDs are served and policies are in force.
   * Without `controllers` it also makes the default ServiceAccount of new namespaces, which Pods need.
   *
   * @throws Error with kubectl's words.
   */
  async apply(
    manifests: string | readonly Manifest[],
    signal: AbortSignal = AbortSignal.timeout(120_000),
  ): Promise<void> {
    const all: readonly Manifest[] =
      typeof manifests === "string"
        ? parseAllDocuments(manifests).flatMap((document) => document.toJS() ?? [])
        : manifests;
    const objects = all.filter((manifest) => !this.held.delete(JSON.stringify(manifest)));
    const isPrelude = ({ kind }: Manifest) => kind === "CustomResourceDefinition" || kind === "Namespace";
    const prelude = objects.filter(isPrelude);
    await this.#applyAll(prelude, signal);
    const definitions = prelude
      .filter(({ kind }) => kind === "CustomResourceDefinition")
      .map((object) => `crd/${nameOf(object)}`);
    if (definitions.length > 0)
      await this.#succeed(["wait", "--for=condition=Established", "--timeout=60s", ...definitions], "", signal);
    if (this.programs.controllerManager === undefined) {
      for (const object of prelude)
        if (object.kind === "Namespace")
          await createDefaultAccount(nameOf(object), (call) => this.request(call, signal));
    }
    await this.#applyAll(
      objects.filter((object) => !isPrelude(object)),
      signal,
    );
    await policiesInForce(objects, (call, during) => this.request(call, during), signal);
  }

  /** Ends every program and removes the folder if it was made for this cluster. Safe to call twice. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    const { kwok, scheduler, controllerManager, apiserver, etcd } = this.programs;
    // SIGKILL: the data is deleted anyway, and on SIGTERM an API server waits up to a minute for its watches.
    await Promise.all([kwok, scheduler, controllerManager, apiserver, etcd].map((program) => program?.kill()));
    this.#watchdog.done();
    if (this.#options.dir === undefined) await rm(this.dir, { recursive: true, force: true, maxRetries: 3 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #answersOk(path: string, signal: AbortSignal): Promise<boolean> {
    return this.request({ path }, AbortSignal.any([signal, AbortSignal.timeout(2_000)])).then(
      ({ status }) => status === 200,
      () => false,
    );
  }

  async #applyAll(objects: readonly Manifest[], signal: AbortSignal): Promise<void> {
    if (objects.length === 0) return;
    const list = { apiVersion: "v1", kind: "List", items: objects };
    await this.#succeed(["apply", "--server-side", "--force-conflicts", "-f", "-"], JSON.stringify(list), signal);
  }

  async #succeed(args: readonly string[], stdin: string, signal: AbortSignal): Promise<void> {
    const { code, stderr } = await this.kubectl(args, { stdin, signal });
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")} failed:\n${stderr.trim()}`);
  }

  #credentials(user: ClusterUser): ApiCredentials {
    return { server: this.server, ca: this.#authority.certificate, ...this.clientCertificate(user) };
  }

  #writeKubeconfig(name: string, credentials: ApiCredentials): string {
    this.#kubeconfigs += 1;
    const file = `${name.replaceAll(/[^\w.-]/g, "-")}-${this.#kubeconfigs}.kubeconfig`;
    return this.#write(file, kubeconfigText(name, credentials));
  }

  #write(name: string, text: string): string {
    const file = join(this.dir, name);
    writeFileSync(file, text, { mode: 0o600 });
    return file;
  }
}

/**
 * Starts etcd and kube-apiserver (and what `options` name) on free ports; about 3 s with the programs in the cache.
 *
 * @throws when a program does not start, with the end of its log. Then nothing is left running.
 */
export async function startCluster(
  options: ClusterOptions = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<Cluster> {
  const found =
    options.programs ??
    (await findPrograms(
      {
        controllers: options.controllers === true,
        kwok: options.kwok !== undefined,
        say: options.log ?? ((line) => process.stderr.write(`${line}\n`)),
      },
      signal,
    ));
  for (let attempt = 1; ; attempt += 1) {
    const dir = options.dir === undefined ? await mkdtemp(join(tmpdir(), "sallyport-cluster-")) : resolve(options.dir);
    const cluster = new Cluster(dir, found, await freePorts(), options);
    try {
      await cluster.start(signal);
      return cluster;
    } catch (error) {
      const portTaken = [cluster.programs.etcd, cluster.programs.apiserver].some((program) =>
        program.logTail(200).includes("address already in use"),
      );
      await cluster.stop();
      if (!portTaken || attempt === 3) throw error;
    }
  }
}

function nameOf({ metadata }: Manifest): string {
  return (metadata as { readonly name: string }).name;
}
