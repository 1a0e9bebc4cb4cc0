import { expect } from "vitest";
import { useCluster } from "../../lab/cluster/use-cluster.ts";
import { fullOnly } from "../../src/base/testing/full.ts";
import { CHART, REQUIRED, useHelm } from "./use-helm.ts";

const GRANTS = "sallyport-grants";
const SET = [`platform.url=${REQUIRED.platform.url}`, "runtimeKey.existingSecret=key"];
const helm = useHelm();
const cluster = useCluster();

/** Installs, upgrades or uninstalls the chart with the real helm. */
async function run(verb: "install" | "upgrade" | "uninstall", ...set: readonly string[]): Promise<void> {
  const where = ["-n", "sallyport-system", "--kubeconfig", cluster().adminKubeconfig];
  const values = [...SET, ...set].flatMap((each) => ["--set", each]);
  const rest = verb === "uninstall" ? [] : [CHART, "--create-namespace", ...values];
  const { code, stderr } = await helm.run([verb, "sallyport", ...rest.slice(0, 1), ...where, ...rest.slice(1)]);
  expect(code, stderr).toBe(0);
}

async function kubectl(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await cluster().kubectl([...args, "-n", GRANTS]);
  expect(code, stderr).toBe(0);
  return stdout;
}

async function policies(): Promise<unknown> {
  const { items } = JSON.parse(await kubectl("get", "operationpolicies", "-o", "json")) as {
    readonly items: readonly { readonly metadata: { readonly name: string }; readonly spec: object }[];
  };
  return items.map(({ metadata, spec }) => ({ name: metadata.name, ...spec }));
}

const MANUAL = { "read-only": "manual", mutating: "manual", destructive: "manual" };

fullOnly("the default policy is made where it is missing, and what the customer wrote into it stays", async () => {
  await run("install");
  expect(await policies()).toEqual([{ name: "default", defaults: MANUAL }]);

  await kubectl("patch", "opp", "default", "--type=merge", "-p", '{"spec":{"defaults":{"read-only":"auto"}}}');
  const edited = [{ name: "default", defaults: { ...MANUAL, "read-only": "auto" } }];
  await run("upgrade", "operationPolicy.defaults.mutating=deny");
  expect(await policies()).toEqual(edited);
  await run("uninstall");
  expect(await policies()).toEqual(edited);
  await run("install");
  expect(await policies()).toEqual(edited);

  await kubectl("delete", "opp", "default");
  await run("upgrade", "operationPolicy.create=false");
  expect(await policies()).toEqual([]);
  const rule = ["operationPolicy.rules[0].pattern=kubernetes/logs", "operationPolicy.rules[0].decision=deny"];
  await run("upgrade", "operationPolicy.defaults.read-only=auto", ...rule);
  expect(await policies()).toEqual([{ ...edited[0], rules: [{ pattern: "kubernetes/logs", decision: "deny" }] }]);
});
