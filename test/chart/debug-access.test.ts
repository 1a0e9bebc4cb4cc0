import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { DEFAULT_NAMES, operationRole } from "../../src/crds/group.ts";
import { openDebugSessions, openNamespaceToDebug } from "../../src/crds/manifests/installation.ts";
import { DEBUG_MODES } from "../../src/crds/operations/debug.ts";
import { CHART, ofKind, one, REQUIRED, type Rendered, useHelm } from "./use-helm.ts";

const helm = useHelm();
const example = join(CHART, "ci", "debug-values.yaml");
const RBAC = ["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"];
const NAMES = { ...DEFAULT_NAMES, systemNamespace: "sallyport-system" };
const keyOf = ({ kind, metadata }: Rendered): string => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;
const EVERY = { logs: true, read: true, exec: true, "port-forward": true };
const on = (modes: object = EVERY, more: object = {}): object => ({
  ...{ ...REQUIRED, namespaces: ["shop"], ...more },
  debugSessions: { enabled: true, modes },
});

/** Objects that debug sessions add, without what only Helm needs. */
async function added(values: object): Promise<readonly Rendered[]> {
  const before = await helm.render({ ...values, debugSessions: {} });
  const known = new Set(before.map(keyOf));
  return (await helm.render(values)).filter((each) => !known.has(keyOf(each)));
}

test("debug sessions add the roles, bindings and policies of src/crds, and nothing else that gives rights", async () => {
  const found = (await added(on())).filter(({ apiVersion }) => apiVersion.includes(".k8s.io/"));
  const wanted = [...openDebugSessions(NAMES), ...openNamespaceToDebug("shop", NAMES)].filter(
    ({ apiVersion }) => apiVersion.startsWith("rbac.") || apiVersion.startsWith("admissionregistration."),
  );
  const plain = ({ apiVersion, kind, metadata, ...rest }: Rendered): object => ({
    ...{ apiVersion, kind, name: metadata.name, namespace: metadata.namespace },
    tier: metadata.labels?.["sallyport.dev/tier"],
    ...rest,
  });
  const sorted = (objects: readonly Rendered[]): readonly object[] =>
    [...objects].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)).map(plain);
  expect(sorted(found.filter(({ kind }) => kind !== "PodDisruptionBudget"))).toEqual(sorted(wanted));
});

test("the rights of ci/debug beside those of an installation without are one golden file", async () => {
  const text = ofKind(await added(on()), ...RBAC)
    .map(({ metadata: { labels: _labels, annotations: _annotations, ...metadata }, ...rest }) => ({
      metadata,
      ...rest,
    }))
    .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    .map((object) => stringify(object))
    .join("---\n");
  await expect(text).toMatchFileSnapshot("golden/rbac-debug.yaml");
});

describe.each(DEBUG_MODES)("the mode %s", (mode) => {
  const role = operationRole("debug", mode);

  test("has no role when it is off, and the operator may not lend it", async () => {
    const objects = await helm.render(on({ ...EVERY, [mode]: false }));
    expect(ofKind(objects, "ClusterRole").map(({ metadata }) => metadata.name)).not.toContain(role);
    const { rules } = one(objects, "ClusterRole", "sallyport-operator-debug-target");
    expect(rules).toEqual([
      expect.objectContaining({
        verbs: ["bind"],
        resourceNames: DEBUG_MODES.filter((each) => each !== mode).map((each) => operationRole("debug", each)),
      }),
    ]);
  });

  test("never reaches Secrets or ConfigMaps, and writes no object", async () => {
    const { rules } = one(await helm.render(example), "ClusterRole", role);
    const reached = rules.flatMap(({ resources }: Rendered) => resources);
    for (const forbidden of [
      "*",
      "secrets",
      "configmaps",
      "serviceaccounts",
      "pods/attach",
      "pods/ephemeralcontainers",
    ]) {
      expect(reached).not.toContain(forbidden);
    }
    for (const { resources, verbs } of rules) {
      const writes = verbs.filter((verb: string) => !["get", "list", "watch"].includes(verb));
      if (writes.length > 0)
        expect([resources, writes]).toEqual([[expect.stringMatching(/^pods\/(exec|portforward)$/)], ["create"]]);
    }
  });
});

test("the tunnel has no right on any workload, and checks who reads its metrics where that is asked for", async () => {
  const objects = await helm.render({ ...on(), metrics: { tls: { existingSecret: "t" }, auth: { enabled: true } } });
  const bound = ofKind(objects, "RoleBinding", "ClusterRoleBinding").filter(({ subjects }) =>
    subjects.some(({ name }: Rendered) => name === "sallyport-tunnel"),
  );
  const resources = bound.flatMap(({ roleRef, metadata }) =>
    one(objects, roleRef.kind, roleRef.name, metadata.namespace).rules.flatMap((rule: Rendered) => rule.resources),
  );
  expect(resources.toSorted()).toEqual([
    "debugsessions",
    "debugsessions/status",
    "serviceaccounts/token",
    "subjectaccessreviews",
    "tokenreviews",
  ]);
});

test("without roles or policies of the chart's, debug sessions make none either", async () => {
  const objects = await added(on(EVERY, { rbac: { create: false }, admission: { mode: "external" } }));
  expect(objects.filter(({ apiVersion }) => apiVersion.includes(".k8s.io/"))).toEqual([]);
  const blind = await helm.render(on(EVERY, { rbac: { selfCheck: false } }));
  expect(ofKind(blind, "ClusterRole").map(({ metadata }) => metadata.name)).not.toContain(
    "sallyport-operator-debug-self-check",
  );
});

test("on servers that cannot stamp names, the stamper of endings is left out", async () => {
  const kinds = (await added(on(EVERY, { admission: { mode: "validating-only" } }))).map(({ kind }) => kind);
  expect(kinds).toContain("ValidatingAdmissionPolicy");
  expect(kinds).not.toContain("MutatingAdmissionPolicy");
});
