import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CertificateAuthority, signingKeyPair } from "./certificates.ts";
import { freePort } from "./ports.ts";
import { goEnvironment, Program } from "./program.ts";
import type { Programs } from "./programs.ts";
import type { Watchdog } from "./watchdog.ts";

export interface ClusterUser {
  readonly user: string;
  readonly groups?: readonly string[];
}

export interface TokenUser extends ClusterUser {
  readonly token: string;
}

/** Random: with a token that can be known before, each user of this machine could use the cluster. */
export function withTokens(users: readonly ClusterUser[]): readonly TokenUser[] {
  return users.map((user) => ({ ...user, token: randomBytes(16).toString("hex") }));
}

/** The processes of one cluster; each can be killed alone. */
export interface ClusterPrograms {
  readonly etcd: Program;
  readonly apiserver: Program;
  readonly controllerManager?: Program;
  readonly scheduler?: Program;
  readonly kwok?: Program;
}

export interface Ports {
  readonly etcd: number;
  readonly etcdPeer: number;
  readonly api: number;
}

export async function freePorts(): Promise<Ports> {
  const [etcd, etcdPeer, api] = [await freePort(), await freePort(), await freePort()];
  return etcd === etcdPeer || etcd === api || etcdPeer === api ? freePorts() : { etcd, etcdPeer, api };
}

export interface Layout {
  readonly dir: string;
  readonly found: Programs;
  readonly ports: Ports;
  readonly authority: CertificateAuthority;
  readonly caFile: string;
  /** Of those whom etcd and kubelets answer. */
  readonly backend: CertificateAuthority;
  readonly adminKubeconfig: string;
  readonly tokenUsers: readonly TokenUser[];
  readonly apiserverArgs: readonly string[];
  readonly leaseSeconds: number;
  readonly nodeAuthorizer: boolean;
  readonly watchdog: Watchdog;
  readonly isApiReady: (signal: AbortSignal) => Promise<boolean>;
}

/** Writes keys and certificates, and decides each program's arguments. Starts nothing. */
export function layOut(layout: Layout): ClusterPrograms {
  const { dir, found } = layout;
  mkdirSync(join(dir, "logs"), { recursive: true });
  const write: Write = (name, text) => {
    const file = join(dir, name);
    writeFileSync(file, text, { mode: 0o600 });
    return file;
  };
  const signing = signingKeyPair();
  const files = {
    signingKey: write("service-accounts.key", signing.privateKey),
    signingPublicKey: write("service-accounts.pub", signing.publicKey),
    authorityKey: write("ca.key", layout.authority.key),
    backendCa: write("backend-ca.crt", layout.backend.certificate),
  };
  const controllerManager = found["kube-controller-manager"];
  const scheduler = found["kube-scheduler"];
  const env = goEnvironment();
  const program = (
    name: string,
    path: string,
    args: readonly string[],
    extra: Partial<ConstructorParameters<typeof Program>[0]> = {},
  ) =>
    new Program({
      ...{ name, path, args, env, logFile: join(dir, "logs", `${name}.log`), watchdog: layout.watchdog },
      ...extra,
    });
  return {
    etcd: program("etcd", found.etcd, etcdArgs(layout, files, write)),
    apiserver: program("kube-apiserver", found["kube-apiserver"], apiserverArgs(layout, files, write), {
      isReady: layout.isApiReady,
    }),
    ...(controllerManager !== undefined && {
      controllerManager: program("kube-controller-manager", controllerManager, controllerManagerArgs(layout, files)),
    }),
    ...(scheduler !== undefined && {
      scheduler: program("kube-scheduler", scheduler, [
        `--kubeconfig=${layout.adminKubeconfig}`,
        "--leader-elect=false",
        "--secure-port=0",
        "-v=0",
      ]),
    }),
    ...(found.kwok !== undefined && { kwok: program("kwok", found.kwok.path, kwokArgs(layout, found.kwok.stages)) }),
  };
}

interface Files {
  readonly signingKey: string;
  readonly signingPublicKey: string;
  readonly authorityKey: string;
  readonly backendCa: string;
}

type Write = (name: string, text: string) => string;

/** Who writes into etcd is above all rules of the API server, so no other user of this machine may: not as a peer either. */
function etcdArgs({ dir, ports, backend }: Layout, { backendCa }: Files, write: Write): readonly string[] {
  const client = `https://127.0.0.1:${ports.etcd}`;
  const peer = `https://127.0.0.1:${ports.etcdPeer}`;
  const own = backend.issue({ commonName: "etcd", hosts: ["127.0.0.1"], isClientToo: true });
  const [certificate, key] = [write("etcd.crt", own.certificate), write("etcd.key", own.key)];
  const lock = (prefix: string) => [
    `--${prefix}cert-file=${certificate}`,
    `--${prefix}key-file=${key}`,
    `--${prefix}trusted-ca-file=${backendCa}`,
    `--${prefix}client-cert-auth`,
  ];
  return [
    ...lock(""),
    ...lock("peer-"),
    `--data-dir=${join(dir, "etcd")}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    // The data is deleted at the end, so etcd need not wait for the disk. A killed etcd still recovers: the kernel has
    // its writes.
    "--unsafe-no-fsync",
    "--log-level=warn",
  ];
}

function apiserverArgs(layout: Layout, files: Files, write: Write): readonly string[] {
  const { authority, backend, ports } = layout;
  const serving = authority.issue({
    commonName: "kube-apiserver",
    hosts: ["127.0.0.1", "localhost", "kubernetes.default.svc", "10.0.0.1"],
  });
  const tokens = layout.tokenUsers.map(
    ({ user, groups = [], token }) => `${token},${user},${user},"${groups.join(",")}"`,
  );
  const client = backend.issue({ commonName: "kube-apiserver" });
  const [certificate, key] = [write("backend-client.crt", client.certificate), write("backend-client.key", client.key)];
  return [
    `--etcd-servers=https://127.0.0.1:${ports.etcd}`,
    `--etcd-cafile=${files.backendCa}`,
    `--etcd-certfile=${certificate}`,
    `--etcd-keyfile=${key}`,
    `--kubelet-certificate-authority=${files.backendCa}`,
    `--kubelet-client-certificate=${certificate}`,
    `--kubelet-client-key=${key}`,
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    // The endpoints of the kubernetes Service need a routable address, and no test uses that Service.
    "--endpoint-reconciler-type=none",
    `--secure-port=${ports.api}`,
    `--tls-cert-file=${write("apiserver.crt", serving.certificate)}`,
    `--tls-private-key-file=${write("apiserver.key", serving.key)}`,
    `--client-ca-file=${layout.caFile}`,
    ...(tokens.length === 0 ? [] : [`--token-auth-file=${write("tokens.csv", `${tokens.join("\n")}\n`)}`]),
    ...(layout.nodeAuthorizer
      ? ["--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction"]
      : ["--authorization-mode=RBAC"]),
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${files.signingPublicKey}`,
    `--service-account-signing-key-file=${files.signingKey}`,
    "--service-cluster-ip-range=10.0.0.0/16",
    "--allow-privileged=true",
    // Only a test ends a long watch.
    "--min-request-timeout=1800",
    "-v=0",
    ...layout.apiserverArgs,
  ];
}

function controllerManagerArgs(layout: Layout, files: Files): readonly string[] {
  return [
    `--kubeconfig=${layout.adminKubeconfig}`,
    `--service-account-private-key-file=${files.signingKey}`,
    "--use-service-account-credentials",
    "--leader-elect=false",
    // Writes into each policy's status what a type check finds: a compilation more of each, that no test reads.
    "--controllers=*,-validatingadmissionpolicy-status-controller",
    // Ten seconds more than a lease is good for, as it is by default.
    `--node-monitor-grace-period=${layout.leaseSeconds + 10}s`,
    `--root-ca-file=${layout.caFile}`,
    `--cluster-signing-cert-file=${layout.caFile}`,
    `--cluster-signing-key-file=${files.authorityKey}`,
    "--secure-port=0",
    "-v=0",
  ];
}

function kwokArgs(layout: Layout, stages: readonly string[]): readonly string[] {
  return [
    `--kubeconfig=${layout.adminKubeconfig}`,
    "--manage-all-nodes=true",
    `--node-lease-duration-seconds=${layout.leaseSeconds}`,
    "--node-ip=127.0.0.1",
    ...stages.map((stage) => `--config=${stage}`),
  ];
}
