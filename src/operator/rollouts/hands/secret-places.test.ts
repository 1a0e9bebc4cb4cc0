import { expect, test } from "vitest";
import type { ReleaseObject } from "../../../crds/kinds/release-content.ts";
import { secretsNamed } from "./secret-places.ts";

const OWN = `cfg-dep-1-${"a".repeat(32)}`;

function reading(name: string, ...parts: readonly object[]): ReleaseObject {
  const manifest = {
    ...{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name, namespace: "shop" } },
    spec: { template: { spec: Object.assign({}, ...parts) } },
  };
  return { wave: 0, frozen: false, resourceId: name, manifest };
}
const variable = (secret: string) => ({
  containers: [{ name: "c", env: [{ name: "A", valueFrom: { secretKeyRef: { name: secret, key: "A" } } }] }],
});
const volume = (secret: string) => ({ volumes: [{ name: "v", secret: { secretName: secret } }] });

test("Secrets of the deployment's own configuration are found wherever a pod names one, each once", () => {
  const lines = [reading("a", variable(OWN)), reading("b", volume(OWN)), reading("c", variable("db-password"))];
  expect(secretsNamed(lines, "dep_1")).toEqual([{ namespace: "shop", name: OWN }]);
  expect(secretsNamed(lines, "dep_2")).toEqual([]);
});
