import { stringify } from "yaml";
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
