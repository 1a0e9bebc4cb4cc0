import { parse, stringify } from "yaml";
import type { ApiCredentials } from "./api-request.ts";

/** A kubeconfig with everything inline, so that the file can be copied anywhere. */
export function kubeconfigText(name: string, credentials: ApiCredentials): string {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const { server, ca, certificate, key, token } = credentials;
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "sallyport", cluster: { server, "certificate-authority-data": base64(ca) } }],
    users: [
      {
        name,
        user: {
          ...(certificate !== undefined && { "client-certificate-data": base64(certificate) }),
          ...(key !== undefined && { "client-key-data": base64(key) }),
          ...(token !== undefined && { token }),
        },
      },
    ],
    contexts: [{ name, context: { cluster: "sallyport", user: name } }],
    "current-context": name,
  });
}

/** What {@link kubeconfigText} has written. */
export function credentialsOf(kubeconfig: string): ApiCredentials {
  const text = (base64: string): string => Buffer.from(base64, "base64").toString("utf8");
  const { clusters, users } = parse(kubeconfig) as Written;
  const [{ cluster }, { user }] = [clusters[0], users[0]];
  const { "client-certificate-data": certificate, "client-key-data": key, token } = user;
  return {
    server: cluster.server,
    ca: text(cluster["certificate-authority-data"]),
    ...(certificate !== undefined && { certificate: text(certificate) }),
    ...(key !== undefined && { key: text(key) }),
    ...(token !== undefined && { token }),
  };
}

interface Written {
  readonly clusters: readonly [
    { readonly cluster: { readonly server: string; readonly "certificate-authority-data": string } },
  ];
  readonly users: readonly [
    {
      readonly user: Readonly<Partial<Record<"client-certificate-data" | "client-key-data" | "token", string>>>;
    },
  ];
}
