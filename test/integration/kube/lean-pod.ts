import { field, interned, message, optional, type Projected, string } from "../../../src/kube/index.ts";

// The example of docs/kube.md, held against it by src/kube/index.test.ts.

export const leanPodShape = message({
  metadata: field(
    1,
    message({ name: field(1, string), namespace: field(3, optional(interned)), resourceVersion: field(6, string) }),
  ),
  status: field(3, message({ phase: field(1, interned) })),
});
export type LeanPod = Projected<typeof leanPodShape>;
