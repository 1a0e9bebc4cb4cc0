import { rm } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import type { Environment } from "../../../base/settings.ts";
import { writePrivately } from "../profiles.ts";
import { debugFolder } from "./kept-session.ts";
import type { Listener } from "./listener.ts";

const NAME = "sallyport-debug";

/** Writes the kubeconfig of a session, for its owner alone. @returns its path, and what removes it */
export async function writeKubeconfig(
  env: Environment,
  sessionId: string,
  namespace: string,
  { url, token, certificate }: Listener,
): Promise<{ readonly path: string; remove(): Promise<void> }> {
  const authority = Buffer.from(certificate).toString("base64");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: NAME, cluster: { server: url, "certificate-authority-data": authority } }],
    users: [{ name: NAME, user: { token } }],
    contexts: [{ name: NAME, context: { cluster: NAME, user: NAME, namespace } }],
    "current-context": NAME,
  };
  // Two processes may serve one session for a moment, one after the other.
  const path = join(debugFolder(env), `${sessionId}.${process.pid}.kubeconfig`);
  await writePrivately(path, stringify(config, { lineWidth: 0 }));
  return { path, remove: () => rm(path, { force: true }) };
}
