import { MACHINE_LABEL } from "../../crds/group.ts";
import type { MachineJoin, MachineJoinState } from "../../crds/kinds/machine-join.ts";
import type { MachinePool } from "../../crds/kinds/machine-pool.ts";
import { Refusal } from "../kernel/refusal.ts";

/** What all machines of this cluster get. */
export interface ClusterFacts {
  /** PEM. */
  readonly ca: string;
  /** Such as v1.36.3; empty while it is not known. */
  readonly serverVersion: string;
  readonly apiServer: string;
  readonly clusterDns: string;
  readonly clusterDomain: string;
}

export type Answer = Readonly<Record<string, string>>;

const SETTLED: readonly MachineJoinState[] = ["Issued", "Joined", "Denied", "Expired", "Removed"];

export function stateOf({ status }: MachineJoin): MachineJoinState {
  return status?.state ?? "Waiting";
}

/** Whether a machine that waits for it is told at once. */
export function isSettled(join: MachineJoin): boolean {
  return SETTLED.includes(stateOf(join));
}

/** The customer's own line, which the machine shows while it waits. */
export function approvalLine({ metadata }: MachineJoin): string {
  const { name, namespace } = metadata;
  return `kubectl patch machinejoin ${name} -n ${namespace} --type=merge -p '{"spec":{"approved":true}}'`;
}

/**
 * What the machine gets to know. All of it is public: a certificate is of no use without its key.
 *
 * @throws Refusal for a signed machine when its pool, which says how it reaches the cluster, is gone
 */
export function answerOf(join: MachineJoin, pool: MachinePool | undefined, facts: ClusterFacts): Answer {
  const state = stateOf(join);
  const { certificate } = join.status ?? {};
  const base = { state, name: join.metadata.name, message: messageOf(join) };
  if ((state !== "Issued" && state !== "Joined") || certificate === undefined) {
    return state === "Waiting" ? { ...base, approve: approvalLine(join) } : base;
  }
  const { apiServer = facts.apiServer, labels = {} } = pool?.spec ?? {};
  if (pool === undefined || apiServer === "") {
    const fault = pool === undefined ? "was deleted" : "says not where the API server is";
    const words = `MachinePool ${join.spec.pool} ${fault}: when the customer has mended it, run this again`;
    throw new Refusal(409, "NO_POOL", "no-pool", words);
  }
  return {
    ...base,
    certificate,
    apiServer,
    ca: facts.ca,
    serverVersion: facts.serverVersion,
    nodeLabels: Object.entries({ ...labels, [MACHINE_LABEL]: "true" })
      .map(([key, value]) => `${key}=${value}`)
      .join(","),
    nodeTaints: taintsOf(pool)
      .map(({ key, value = "", effect }) => `${key}=${value}:${effect}`)
      .join(","),
    kubeletConfig: `${JSON.stringify(kubeletConfig(pool, facts), null, 2)}\n`,
  };
}

function taintsOf({ spec }: MachinePool): NonNullable<MachinePool["spec"]["taints"]> {
  return spec.taints ?? [];
}

/** A KubeletConfiguration; JSON is YAML. */
function kubeletConfig(pool: MachinePool, { clusterDns, clusterDomain }: ClusterFacts): object {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: "/etc/kubernetes/pki/ca.crt" },
    },
    authorization: { mode: "Webhook" },
    cgroupDriver: "systemd",
    containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
    clusterDNS: [clusterDns],
    clusterDomain,
    registerWithTaints: taintsOf(pool),
    rotateCertificates: true,
    serverTLSBootstrap: pool.spec.serving === "approve",
  };
}

const WORDS: Readonly<Record<MachineJoinState, string>> = {
  Waiting: "waits for the customer to let it in",
  Approved: "let in; the cluster signs next",
  Signing: "let in; the cluster signs",
  Issued: "signed",
  Joined: "joined",
  Denied: "refused",
  Expired: "it was not let in in time; join again with a new key",
  Removed: "it was removed from the cluster; join again with a new key and another name",
};

/** Of a refusal the reason; the conditions' own words, one line. */
function messageOf(join: MachineJoin): string {
  const state = stateOf(join);
  const { deniedReason } = join.spec;
  if (state === "Denied" && deniedReason !== undefined) return line(deniedReason);
  if (state === "Expired" && join.status?.certificate !== undefined) {
    return "its certificate ran out before its node appeared; join again with a new key and another name";
  }
  const said = join.status?.conditions?.find(({ status, message }) => status === "False" && message !== "")?.message;
  return state === "Denied" && said !== undefined ? line(said) : WORDS[state];
}

function line(text: string): string {
  return text.replace(/[^ -~]+/g, " ").slice(0, 512);
}
