import { expect, test } from "vitest";
import type { ReleaseManifest } from "../../../../crds/kinds/release-content.ts";
import { RELEASE_FIELD_MANAGER } from "../../../../crds/release-names.ts";
import type { LiveObject } from "../release-api.ts";
import { isAsWished } from "./as-wished.ts";
import type { FieldSet } from "./field-set.ts";

// test/integration/releases/as-wished.test.ts compares it with what the API server does.

const PORTS = [{ containerPort: 80 }, { containerPort: 81, name: "metrics" }];
const WISHED = {
  ...{
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "api", namespace: "shop", labels: { app: "api" } },
  },
  spec: {
    replicas: 2,
    template: { spec: { containers: [{ name: "c", args: ["a", "b"], ports: PORTS }], volumes: [] } },
  },
};
const port = (number: number): string => `k:{"containerPort":${number},"protocol":"TCP"}`;
const OWN: FieldSet = {
  "f:metadata": { "f:labels": { "f:app": {} } },
  "f:spec": {
    "f:replicas": {},
    "f:template": {
      "f:spec": {
        "f:containers": {
          'k:{"name":"c"}': {
            ...{ ".": {}, "f:name": {}, "f:args": {} },
            "f:ports": {
              [port(80)]: { ".": {}, "f:containerPort": {} },
              [port(81)]: { ".": {}, "f:containerPort": {}, "f:name": {} },
            },
          },
        },
        "f:volumes": {},
      },
    },
  },
};

type Wished = typeof WISHED;
const container = (change: object): Wished => {
  const [first] = WISHED.spec.template.spec.containers;
  const spec = { ...WISHED.spec.template.spec, containers: [{ ...first, ...change }] };
  return { ...WISHED, spec: { ...WISHED.spec, template: { spec } } } as Wished;
};

/** With what the API server fills in, and a label of the customer's. */
function live(wished: Wished = WISHED): LiveObject {
  const [first] = wished.spec.template.spec.containers;
  const ports = first?.ports.map((each) => ({ ...each, protocol: "TCP" }));
  const spec = { ...wished.spec.template.spec, containers: [{ ...first, ports, terminationMessagePath: "/dev/null" }] };
  const managedFields = [
    { manager: "customer", operation: "Update", apiVersion: "apps/v1", fieldsV1: { "f:metadata": {} } },
    { manager: RELEASE_FIELD_MANAGER, operation: "Apply", apiVersion: "apps/v1", fieldsV1: OWN },
  ];
  return {
    ...wished,
    metadata: { ...wished.metadata, labels: { app: "api", theirs: "x" }, managedFields },
    spec: { ...wished.spec, template: { spec }, progressDeadlineSeconds: 600 },
  } as unknown as LiveObject;
}

const isSo = (wished: object, there: LiveObject = live()): boolean => isAsWished(wished as ReleaseManifest, there);

test("what has all of it, beside what others have and what the API server fills in, is as wished", () => {
  expect(isSo(WISHED)).toBe(true);
});

test.each<[string, object]>([
  ["another value", { ...WISHED, spec: { ...WISHED.spec, replicas: 3 } }],
  ["a field less", { ...WISHED, spec: { template: WISHED.spec.template } }],
  ["a field more", { ...WISHED, spec: { ...WISHED.spec, paused: false } }],
  ["another list that is one value", container({ args: ["b", "a"] })],
  ["an element less", container({ ports: PORTS.slice(1) })],
  ["an element more", container({ ports: [...PORTS, { containerPort: 82 }] })],
  ["elements in another order", container({ ports: PORTS.toReversed() })],
  ["another version of the kind", { ...WISHED, apiVersion: "apps/v2" }],
  ["an annotation", { ...WISHED, metadata: { ...WISHED.metadata, annotations: { a: "1" } } }],
])("%s is not", (_, wished) => {
  expect(isSo(wished)).toBe(false);
});

test("what another owns, or has changed, is not", () => {
  const changed = live({ ...WISHED, spec: { ...WISHED.spec, replicas: 5 } });
  expect(isSo(WISHED, changed)).toBe(false);
  const { "f:replicas": _replicas, ...spec } = OWN["f:spec"] as FieldSet;
  const { managedFields = [], ...metadata } = live().metadata;
  const owners = [managedFields[0], { ...managedFields[1], fieldsV1: { ...OWN, "f:spec": spec } }];
  expect(isSo(WISHED, { ...live(), metadata: { ...metadata, managedFields: owners } } as LiveObject)).toBe(false);
  expect(isSo(WISHED, { ...live(), metadata })).toBe(false);
});
