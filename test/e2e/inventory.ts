import { GRANTS, SYSTEM } from "../world/people.ts";
import { kubectl } from "./kubectl.ts";
import type { Scene } from "./scene.ts";

/** An object as `Kind namespace/name`; without the slash where its kind has no namespaces. */
export type Entry = string;

/**
 * Everything of every kind that the API server lists and that is Sallyport's: by the release's label, by name, by kind,
 * or because it lies in one of its two namespaces. Without what Kubernetes puts into every namespace, and events, which
 * the API server deletes by itself.
 */
export async function inventory(scene: Scene, release: string, signal: AbortSignal): Promise<readonly Entry[]> {
  const kinds = await kubectl(scene, ["api-resources", "--verbs=list", "-o", "name"], signal);
  const listed = kinds
    .trim()
    .split("\n")
    .filter((kind) => !/^events(\.|$)/.test(kind));
  const fields = ["kind", "apiVersion", "metadata.namespace", "metadata.name", LABEL].map((path) => `{.${path}}`);
  const output = `jsonpath={range .items[*]}${fields.join("|")}{"\\n"}{end}`;
  const text = await kubectl(scene, ["get", listed.join(","), "--all-namespaces", "-o", output], signal);
  const rows = text
    .trim()
    .split("\n")
    .map((row) => row.split("|"));
  const ours = rows.filter(([kind = "", version = "", namespace = "", name = "", label = ""]) => {
    // The test's cluster has the word in its name, and so have its nodes.
    const own = name.replaceAll(scene.cluster.name, "");
    if (label === release || own.includes("sallyport") || version.startsWith("sallyport.dev/")) return true;
    return [SYSTEM, GRANTS].includes(namespace) && !EVERYWHERE.includes(`${kind} ${name}`);
  });
  const entries = ours.map(([kind, , namespace, name]) => `${kind} ${namespace === "" ? "" : `${namespace}/`}${name}`);
  return [...new Set(entries)].sort();
}

const LABEL = "metadata.labels.app\\.kubernetes\\.io/instance";
const EVERYWHERE = ["ConfigMap kube-root-ca.crt", "ServiceAccount default"];
