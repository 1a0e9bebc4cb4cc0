import { expect, test } from "vitest";
import { fieldsOfClientAlone, inPlaceOfClient, type ManagedFields } from "./managed-fields.ts";

const entry = (manager: string, operation: string, fieldsV1: object, more: object = {}): ManagedFields =>
  ({ manager, operation, apiVersion: "apps/v1", fieldsV1, ...more }) as ManagedFields;
const FILE = entry("kubectl-client-side-apply", "Update", {
  "f:metadata": { "f:annotations": { ".": {}, "f:kubectl.kubernetes.io/last-applied-configuration": {} } },
  "f:spec": {
    "f:replicas": {},
    "f:template": { "f:spec": { "f:containers": { 'k:{"name":"web"}': { ".": {}, "f:image": {}, "f:env": {} } } } },
  },
});
const SCALED = entry("kubectl", "Update", { "f:spec": { "f:replicas": {} } }, { subresource: "scale" });
const CONTROLLER = entry("kube-controller-manager", "Update", { "f:status": { "f:replicas": {} } });

test("an object that was never applied from a file stays as it is", () => {
  expect(inPlaceOfClient([SCALED, CONTROLLER])).toBeUndefined();
  expect(inPlaceOfClient([{ ...FILE, subresource: "status" }])).toBeUndefined();
  expect(inPlaceOfClient([{ ...FILE, operation: "Apply" }])).toBeUndefined();
});

test("the file's fields become the release's, and those of others stay theirs", () => {
  expect(inPlaceOfClient([SCALED, FILE, CONTROLLER])).toEqual([
    { ...FILE, manager: "sallyport-release", operation: "Apply" },
    SCALED,
    CONTROLLER,
  ]);
});

test("what the release owns already stays, and takes up only fields of the same version of the API", () => {
  const own = entry("sallyport-release", "Apply", { "f:spec": { "f:paused": {}, "f:replicas": {} } });
  const old = { ...FILE, apiVersion: "apps/v1beta1", fieldsV1: { "f:spec": { "f:old": {} } } } as ManagedFields;
  const [merged, ...others] = inPlaceOfClient([own, FILE, old]) ?? [];
  expect(others).toEqual([]);
  expect(merged).toEqual({
    ...own,
    fieldsV1: { ...FILE.fieldsV1, "f:spec": { ...FILE.fieldsV1?.["f:spec"], "f:paused": {} } },
  });
});

test("named is what the file alone has: the highest place of it", () => {
  expect(fieldsOfClientAlone([FILE, SCALED, CONTROLLER])).toEqual([".metadata", ".spec.template"]);
  const own = entry("sallyport-release", "Apply", {
    "f:metadata": { "f:labels": {}, "f:annotations": { "f:a": {} } },
    "f:spec": { "f:template": { "f:spec": { "f:containers": { 'k:{"name":"web"}': { "f:image": {} } } } } },
  });
  expect(fieldsOfClientAlone([FILE, own])).toEqual([
    ".metadata.annotations.kubectl.kubernetes.io/last-applied-configuration",
    ".spec.replicas",
    '.spec.template.spec.containers[name="web"].env',
  ]);
});
