import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import type { Cluster } from "../../lab/cluster/cluster.ts";
import { useCluster } from "../../lab/cluster/use-cluster.ts";
import { fullOnly } from "../../src/base/testing/full.ts";
import { decisionFor, mergePolicies } from "../../src/operator/gate/policy.ts";
import { CHART, envOf, ofKind, one, podOf, type Rendered, useHelm } from "./use-helm.ts";

const EXAMPLES = join(import.meta.dirname, "../../deploy/examples");
const read = (name: string): string => readFileSync(join(EXAMPLES, name), "utf8");
const application: Rendered = parse(read("argocd/application.yaml"));
const flux: readonly Rendered[] = parseAllDocuments(read("flux/release.yaml")).map((each) => each.toJS());
const values: Rendered = parse(read("terraform/values.yaml"));
const { helm: argo } = application.spec.source;
const DEPLOYMENT = "dep_7c1kq0x8r2m4n6p9s3t5v7w1y2z4";

const helm = useHelm();

/** What the values say of people, policies and deployments, as the cluster has it. */
async function state(cluster: Cluster) {
  const get = async (...what: readonly string[]): Promise<Rendered> =>
    JSON.parse((await cluster.kubectl(["get", ...what, "-o", "json"])).stdout);
  const may = ["auth", "can-i", "patch", "accessgrants.sallyport.dev", "-n", "sallyport-grants"];
  const { stdout } = await cluster.kubectl([...may, "--as=bob", "--as-group=platform-team"]);
  const policies = (await get("operationpolicies", "-n", "sallyport-grants")).items;
  const shop = policies.find(({ metadata }: Rendered) => metadata.name === "shop");
  return {
    approves: stdout.trim(),
    policies: policies.map(({ metadata }: Rendered) => metadata.name).sort(),
    uid: shop?.metadata.uid,
    rules: shop?.spec.rules,
    // What the operator makes of all policies together: they merge to the strictest.
    logs: decisionFor(mergePolicies(policies), "kubernetes/logs", "read-only"),
    deployments: envOf((await get("deployment", "sallyport-operator", "-n", "sallyport-system")).spec.template.spec)
      .SALLYPORT_DEPLOYMENTS,
    opened: (await get("rolebindings", "-n", "shop")).items.map(({ metadata }: Rendered) => metadata.name).sort(),
  };
}

const SAID = {
  approves: "yes",
  rules: [{ pattern: "kubernetes/logs", decision: "auto" }],
  logs: "auto",
  deployments: `${DEPLOYMENT}=shop`,
  opened: ["sallyport-agent-observe", "sallyport-operator-target"],
};
const namespaces = ["sallyport-system", "shop"].map((name) => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name },
}));

test("the three examples have the same values, of this chart's version", () => {
  const { version } = parse(readFileSync(join(CHART, "Chart.yaml"), "utf8"));
  const release = one(flux, "HelmRelease", "sallyport").spec;
  expect(release.values).toEqual(values);
  expect(argo.valuesObject).toEqual(values);
  expect(application.spec.source.targetRevision).toBe(version);
  expect(one(flux, "OCIRepository", "sallyport").spec.ref.tag).toBe(version);
  expect(read("terraform/main.tf")).toContain(`version    = "${version}"`);
  expect([argo.releaseName, release.releaseName]).toEqual(["sallyport", "sallyport"]);
});

const rendered = (): Promise<readonly Rendered[]> => helm.render(values, { apiVersions: argo.apiVersions });

test("for Argo CD policies are plain objects that wait for their kind", async () => {
  const policies = ofKind(await rendered(), "OperationPolicy");
  expect(policies.map(({ metadata }) => [metadata.name, metadata.annotations]).sort()).toEqual([
    ["shop", { "argocd.argoproj.io/sync-options": "SkipDryRunOnMissingResource=true" }],
  ]);
  const without = ofKind(await helm.render(values), "OperationPolicy").find(({ metadata }) => metadata.name === "shop");
  expect(without.metadata.annotations["helm.sh/hook"]).toBe("post-install,post-upgrade,post-rollback");
  expect(envOf(podOf(await rendered(), "sallyport-agent")).SALLYPORT_DEPLOYMENTS).toBe(`${DEPLOYMENT}=shop`);
});

describe("as Argo CD renders", () => {
  const cluster = useCluster();

  fullOnly("the first sync applies policies, people and deployments, and the next one keeps them", async () => {
    await cluster().apply(namespaces);
    const synced = (await rendered()).filter(
      ({ metadata }) =>
        metadata.annotations?.["argocd.argoproj.io/hook"] !== "Skip" &&
        metadata.annotations?.["helm.sh/hook"] !== "test",
    );
    await cluster().apply(synced);
    const first = await state(cluster());
    expect(first).toMatchObject({ ...SAID, policies: ["shop"] });
    await cluster().apply(synced);
    expect(await state(cluster())).toEqual(first);
  });
});

describe("as Flux and Terraform install", () => {
  const cluster = useCluster();
  const release = async (verb: "install" | "upgrade", ...more: readonly string[]): Promise<void> => {
    const file = join(EXAMPLES, "terraform/values.yaml");
    const where = ["-n", "sallyport-system", "--kubeconfig", cluster().adminKubeconfig];
    const { code, stderr } = await helm.run([verb, "sallyport", CHART, ...where, "-f", file, ...more]);
    expect(code, stderr).toBe(0);
  };
  beforeAll(() => cluster().apply(namespaces));

  fullOnly("the first install applies policies, people and deployments, and upgrades keep them", async () => {
    await release("install");
    const first = await state(cluster());
    expect(first).toMatchObject({ ...SAID, policies: ["shop"] });
    await release("upgrade");
    expect(await state(cluster())).toEqual(first);
    await release("upgrade", "--set", "log.level=debug");
    expect(await state(cluster())).toEqual(first);
  });
});
