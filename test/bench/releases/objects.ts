import { renderStack } from "../../../src/agent/releases/render/render-stack.ts";
import type { ReleaseManifest, ReleaseObject } from "../../../src/crds/kinds/release-content.ts";
import { GRANTS, SHOP } from "../../world/people.ts";

/** Of a container that has a port: a Deployment, a Service and a ServiceAccount. */
const OBJECTS_OF_APP = 3;
/** Of five objects one is a Deployment. */
const OBJECTS_FOR_APP = 5;
const PLAIN = { environmentVariables: { variables: [] }, inputValues: {}, externalBindings: {} };

/** Resources of a stack of `count` objects: of five a Deployment, a Service, a ServiceAccount and two ConfigMaps. */
export function mixedResources(count: number): Readonly<Record<string, object>> {
  const apps = Math.floor(count / OBJECTS_FOR_APP);
  const containers = Array.from({ length: apps }, (_, index) => {
    const id = `app-${index + 1}`;
    const image = `registry.example.com/shop/${id}:1.0.0`;
    return [
      id,
      resource({ id, type: "container", image, ports: [{ port: 8080 }], cpu: "10m", memory: "16Mi" }),
    ] as const;
  });
  const settings = settingsOf("settings", count - apps * OBJECTS_OF_APP, 100);
  return { ...Object.fromEntries(containers), ...settings };
}

/** One resource: ConfigMaps alone, which are healthy when they are there. */
export function settingsOf(id: string, count: number, bytes: number): Readonly<Record<string, object>> {
  const objects = Array.from({ length: count }, (_, index) => ({
    ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: `${id}-${index + 1}` } },
    data: { settings: `number = ${index}; `.padEnd(bytes, "x") },
  }));
  return { [id]: resource({ id, type: "manifests", objects }) };
}

function resource(config: object): object {
  return { config, dependencies: [], lifecycle: "live" };
}

/** As the agent makes them. */
export function rendered(
  resources: Readonly<Record<string, object>>,
  deploymentId: string,
  version: string,
): readonly ReleaseObject[] {
  const answer = renderStack({
    ...{ stack: { id: "shop", resources }, config: PLAIN, deploymentId, releaseId: releaseIdOf(version), version },
    ...{ grantsNamespace: GRANTS, namespaces: [SHOP] },
  });
  if (!answer.ok) throw new Error(JSON.stringify(answer.problems));
  return answer.objects;
}

export function releaseIdOf(version: string): string {
  return `rel_${version.replaceAll(".", "").padStart(28, "0")}`;
}

/** For a peer without a gate of its own, with the same wait. */
export function withMinReady(manifest: ReleaseManifest, seconds: number): ReleaseManifest {
  return manifest.kind === "Deployment"
    ? { ...manifest, spec: { ...(manifest.spec as object), minReadySeconds: seconds } }
    : manifest;
}
