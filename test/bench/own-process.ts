import { readFileSync } from "node:fs";
import { parse } from "yaml";
import type { ExplicitEndpoint } from "../../src/kube/client/connection.ts";

/** As in a pod: a server, a certificate authority and a credential, without the weight of a kubeconfig reader. */
export function endpoint(kubeconfig: string): ExplicitEndpoint {
  const { clusters, users } = parse(readFileSync(kubeconfig, "utf8")) as Kubeconfig;
  const [cluster, user] = [clusters[0]?.cluster, users[0]?.user];
  if (cluster === undefined || user === undefined) throw new Error(`${kubeconfig} names no cluster or no user`);
  const decoded = (base64: string): string => Buffer.from(base64, "base64").toString("utf8");
  return {
    server: cluster.server,
    ca: decoded(cluster["certificate-authority-data"]),
    clientCertificate: decoded(user["client-certificate-data"]),
    clientKey: decoded(user["client-key-data"]),
  };
}

interface Kubeconfig {
  readonly clusters: readonly {
    readonly cluster: { readonly server: string; readonly "certificate-authority-data": string };
  }[];
  readonly users: readonly {
    readonly user: { readonly "client-certificate-data": string; readonly "client-key-data": string };
  }[];
}

/** The last line that a measured process prints. */
export function report(figures: Readonly<Record<string, string | number>>): void {
  const status = readFileSync("/proc/self/status", "utf8");
  const peak = /VmHWM:\s+(.*)/.exec(status)?.[1] ?? "";
  console.log(JSON.stringify({ peer: "sallyport", ...figures, VmHWM: peak }));
}
