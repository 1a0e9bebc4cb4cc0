import { describe, expect, test } from "vitest";
import { grantAccount, objectName } from "../group.ts";
import { installation, KINDS, openCluster } from "../manifests/installation.ts";
import { inScope } from "../operations/catalog.ts";
import { ACCESS_GRANT, type AccessGrantSpec } from "./access-grant.ts";
import { customResourceDefinition } from "./kind.ts";

/** Every object under `value`, with its path. */
function* levels(value: unknown, path = ""): Generator<[string, Readonly<Record<string, unknown>>]> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield [path, value as Record<string, unknown>];
  for (const [key, entry] of Object.entries(value)) yield* levels(entry, `${path}/${key}`);
}

/** Of Kubernetes itself, and of operators that clusters often have: Cluster API, Argo, Flux, cert-manager, Istio, Velero. */
const TAKEN = [
  ...[
    "cm",
    "cs",
    "crd",
    "csr",
    "csinode",
    "cj",
    "deploy",
    "ds",
    "ep",
    "ev",
    "hpa",
    "ing",
    "limits",
    "netpol",
    "no",
    "ns",
  ],
  ...["pc", "pdb", "po", "psp", "pv", "pvc", "quota", "rc", "rs", "sa", "sc", "sts", "svc", "va", "vap", "vapb"],
  ...[
    "cl",
    "kcp",
    "ma",
    "md",
    "mhc",
    "ms",
    "app",
    "apps",
    "appset",
    "appproj",
    "ro",
    "ar",
    "at",
    "exp",
    "wf",
    "gitrepo",
  ],
  ...["hr", "hc", "helmrepo", "ks", "ocirepo", "cert", "certs", "cr", "crs", "dr", "gw", "se", "vs", "bsl", "vsl"],
];

test("no kind's short name is one that kubectl finds elsewhere, or another kind's of ours", () => {
  const names = KINDS.map(({ shortName }) => shortName);
  expect(names.filter((name) => TAKEN.includes(name))).toEqual([]);
  expect(new Set(names).size).toBe(names.length);
});

describe.each(KINDS.map((kind) => [kind.kind, kind] as const))("%s", (_name, kind) => {
  const schema = customResourceDefinition(kind);

  test("is a structural schema: no keyword that the API server refuses", () => {
    const refused = ["$ref", "const", "anyOf", "oneOf", "patternProperties", "~kind", "~optional"];
    const found = [...levels(schema)].flatMap(([path, level]) =>
      [
        ...refused.filter((word) => word in level),
        // A map's values have a schema; true and false are refused.
        ...(typeof level.additionalProperties === "boolean" ? ["additionalProperties"] : []),
      ].map((word) => `${path}: ${word}`),
    );
    expect(found).toEqual([]);
  });

  test("every string is bounded, so that CEL's cost is", () => {
    const unbounded = [...levels(schema)]
      .filter(
        ([, level]) =>
          level.type === "string" &&
          !("maxLength" in level || "enum" in level || "format" in level || "jsonPath" in level),
      )
      .map(([path]) => path);
    expect(unbounded).toEqual([]);
  });
});

test("every field of a grant's spec is frozen or write-once: a new field in neither is a hole", () => {
  const transitions = [...levels(ACCESS_GRANT.spec)].map(([, { rule }]) => rule).join(" ");
  const loose = Object.keys(ACCESS_GRANT.spec.properties).filter((field) => !transitions.includes(`oldSelf.${field}`));
  expect(loose).toEqual([]);
});

test("the type is read off the schema", () => {
  const decided: Pick<AccessGrantSpec, "approvedForMinutes" | "decidedBy"> = {
    approvedForMinutes: 60,
    decidedBy: "alice",
  };
  expect(decided.approvedForMinutes).toBe(60);
  // @ts-expect-error minutes are a number
  const wrong: Pick<AccessGrantSpec, "approvedForMinutes"> = { approvedForMinutes: "60" };
  expect(wrong).toBeDefined();
});

test("no rule holds a wildcard, Secrets, escalate or impersonate", () => {
  const { rbac } = installation();
  const words = rbac.flatMap((manifest) =>
    [...levels(manifest.rules)].flatMap(([, rule]) => [rule.verbs, rule.resources, rule.apiGroups].flat()),
  );
  expect(words.length).toBeGreaterThan(50);
  for (const word of ["*", "secrets", "escalate", "impersonate"]) expect(words).not.toContain(word);
});

test("the operator may bind exactly the shipped operation roles", () => {
  const { rbac } = installation();
  const shipped = rbac
    .filter(({ metadata }) => metadata.name.startsWith("sallyport-op-"))
    .map(({ metadata }) => metadata.name);
  const target = rbac.find(({ metadata }) => metadata.name === "sallyport-operator-target");
  const bindable = [...levels(target)].flatMap(([, rule]) => rule.resourceNames ?? []);
  expect(shipped).toHaveLength(inScope("namespaced").length);
  expect(bindable).toEqual(shipped);
});

test("nothing of cluster scope is there until the customer opens it, and then the operator may bind exactly those roles", () => {
  const { rbac } = installation();
  const words = rbac.flatMap((manifest) => [...levels(manifest.rules)].flatMap(([, rule]) => rule.resources ?? []));
  expect(words).not.toContain("clusterrolebindings");
  expect(words).not.toContain("nodes");
  const opened = openCluster();
  const target = opened.find(({ metadata }) => metadata.name === "sallyport-operator-cluster-target");
  expect([...levels(target)].flatMap(([, rule]) => rule.resourceNames ?? [])).toEqual([
    "sallyport-op-kubernetes-cordon-node",
    "sallyport-op-kubernetes-uncordon-node",
  ]);
});

test("renamed namespaces and accounts leave no default name behind", () => {
  const names = { systemNamespace: "sys", grantsNamespace: "gra", agentAccount: "listener", operatorAccount: "hand" };
  const text = JSON.stringify(installation(names));
  for (const name of ["sallyport-system", "sallyport-grants", 'sallyport-agent"', 'sallyport-operator"'])
    expect(text).not.toContain(name);
});

test.each([
  ["ar_01AB.c", "ar-01ab-c"],
  ["cmd_AbC", "cmd-abc"],
])("the object of %s is named %s", (id, name) => {
  expect(objectName(id)).toBe(name);
});

test("a grant's account is named after the first twelve digits of its uid", () => {
  expect(grantAccount("0f8fad5b-d9cb-469f-a165-70867728950e")).toBe("grant-0f8fad5bd9cb");
});
