import type { Registry } from "prom-client";
import { objectName } from "../../src/crds/group.ts";
import { managedDeployments } from "../../src/crds/kinds/managed-deployment.ts";
import type { Client } from "../../src/kube/client/client.ts";
import { type DynamicObject, resources } from "../../src/kube/objects/resource.ts";
import { GRANTS } from "./people.ts";
import { signal } from "./wait.ts";

/** An object of our kinds, where the agent and the operator look for it. */
// biome-ignore lint/suspicious/noExplicitAny: test data, checked by the API server.
export function ours(kind: string, id: string, spec: object): any {
  return { apiVersion: "sallyport.dev/v1alpha1", kind, metadata: { name: objectName(id), namespace: GRANTS }, spec };
}

/** Answers for the customer where the deployment may be operated on. */
export async function accept(client: Client, deploymentId: string, ...namespaces: readonly string[]): Promise<void> {
  const key = { namespace: GRANTS, name: objectName(deploymentId) };
  const body = { spec: { acceptedNamespaces: namespaces } };
  await client.patch(managedDeployments, key, { type: "merge", body }, {}, signal());
}

/** `status/reason` of the object's condition of this type. */
export function condition(
  object: {
    readonly status?: {
      readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
    };
  },
  type: string,
): string {
  const found = object.status?.conditions?.find((each) => each.type === type);
  return `${found?.status}/${found?.reason}`;
}

/** Reasons of the events about an object of ours. */
export async function eventReasons(client: Client, name: string): Promise<readonly string[]> {
  const reasons: string[] = [];
  const options = { namespace: GRANTS, fieldSelector: `regarding.name=${name}` };
  for await (const event of client.list<DynamicObject>(resources.events, options, signal())) {
    reasons.push(String(event.reason));
  }
  return reasons;
}

/** The value of one line of a registry; NaN: there is no such line. */
export async function metric(registry: Registry, line: string): Promise<number> {
  const text = await registry.metrics();
  const found = text.split("\n").find((each) => each.startsWith(`${line} `));
  return Number(found?.slice(line.length + 1));
}
