import { beforeAll } from "vitest";
import type { Cluster } from "../../lab/cluster/cluster.ts";
import { customResourceDefinition, type Kind } from "../../src/crds/kinds/kind.ts";
import { namespace } from "../world/installation.ts";
import { GRANTS } from "../world/people.ts";

/** What the API server said: an HTTP status, and words where it refused. */
export interface Answer {
  readonly status: number;
  readonly message: string;
}

/** Objects of our kinds, sent as they are by an admin: only the kinds' own rules stand between. */
export interface KindObjects {
  create(kind: Kind, name: string, spec: object): Promise<Answer>;
  /** A merge patch. */
  patch(kind: Kind, name: string, body: object): Promise<Answer>;
  report(kind: Kind, name: string, status: object | null): Promise<Answer>;
}

/** Call it once in a test file: the kinds are there before the first test. */
export function kindObjects(cluster: () => Cluster, kinds: readonly Kind[]): KindObjects {
  beforeAll(async () => {
    await cluster().apply([namespace(GRANTS), ...kinds.map((kind) => customResourceDefinition(kind))]);
  }, 120_000);
  const sent = async (method: string, path: string, body: object, contentType?: string): Promise<Answer> => {
    const call = { method, path, body, ...(contentType !== undefined && { contentType }) };
    const { status, body: answer } = await cluster().request(call);
    return { status, message: String((answer as { message?: unknown } | null)?.message ?? "") };
  };
  const collection = ({ plural }: Kind): string => `/apis/sallyport.dev/v1alpha1/namespaces/${GRANTS}/${plural}`;
  const patched = (path: string, body: object): Promise<Answer> =>
    sent("PATCH", path, body, "application/merge-patch+json");
  return {
    create(kind, name, spec) {
      const object = { apiVersion: "sallyport.dev/v1alpha1", kind: kind.kind, metadata: { name }, spec };
      return sent("POST", collection(kind), object);
    },
    patch: (kind, name, body) => patched(`${collection(kind)}/${name}`, body),
    report: (kind, name, status) => patched(`${collection(kind)}/${name}/status`, { status }),
  };
}
