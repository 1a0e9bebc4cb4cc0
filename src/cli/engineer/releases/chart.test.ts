import { describe, expect, it } from "vitest";
import type { ToolAnswer } from "../calling.ts";
import { stackFromChart } from "./chart.ts";
import type { ReleaseStack } from "./manifest-stack.ts";
import { refusal, surroundings } from "./testing/surroundings.ts";

const signal = new AbortController().signal;
const chart = { chart: "./shop", values: ["a.yaml", "b.yaml"], namespace: undefined, version: "1.4.0" };
const said = (stdout: string): ToolAnswer => ({ code: 0, stdout, stderr: "" });
const rendered = (more: string) =>
  said(`---\n# Source: shop/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\n${more}`);

/** What is sent, and what a person reads of the chart. */
async function made(answer: ToolAnswer): Promise<{ readonly stack: ReleaseStack["stack"]; readonly notes: string }> {
  const notes: string[] = [];
  const heard = { ...surroundings(answer), error: (text: string) => void notes.push(text) };
  const { stack } = await stackFromChart("shop", chart, heard, signal);
  return { stack, notes: notes.slice(1).join("") };
}

const hooked = (kind: string, name: string, annotations: Readonly<Record<string, string>>): string =>
  `apiVersion: ${kind === "Job" ? "batch/v1" : "v1"}\nkind: ${kind}\nmetadata: {name: ${name}, annotations: ${JSON.stringify(annotations)}}\n---\n`;

describe("a chart", () => {
  it("is rendered by the engineer's helm for a namespace that is left out again", async () => {
    const calls: (readonly string[])[] = [];
    const answer = rendered("metadata: {name: a, namespace: namespace-of-the-deployment}\n");
    const { stack } = await stackFromChart(
      "shop",
      chart,
      surroundings(answer, (args) => calls.push(args)),
      signal,
    );
    const call = [
      ...["template", "shop", "./shop", "--namespace", "namespace-of-the-deployment", "--include-crds"],
      ...["--values", "a.yaml", "--values", "b.yaml"],
    ];
    expect(calls).toEqual([call, call]);
    expect(JSON.stringify(stack)).not.toContain("namespace");
  });

  it.each<[string, ToolAnswer | undefined, RegExp]>([
    ["without helm", undefined, /^helm is not on the PATH: install it, or .*--manifests FILE$/],
    [
      "that helm refuses",
      { code: 1, stdout: "", stderr: "Error: no\u001b[2J\n" },
      /ended with 1\nError: no\\u001b\[2J\n$/,
    ],
    [
      "that builds a name of its namespace",
      rendered("metadata: {name: a}\ndata: {host: db.namespace-of-the-deployment.svc}\n"),
      /shop\/templates\/a\.yaml:3 \(document 1\): the chart writes its namespace into the object: .*--namespace NAME$/,
    ],
    ...["pre-delete", "pre-rollback", "post-install", "pre-upgrade", "post-install,pre-upgrade", "crd-install"].map(
      (hook): [string, ToolAnswer, RegExp] => [
        `with a hook ${hook}`,
        rendered(`metadata: {name: a, annotations: {helm.sh/hook: "${hook}"}}\n`),
        new RegExp(`ConfigMap a: helm's hook ${hook} has no place in a release; .*pre-install,pre-upgrade or post-`),
      ],
    ),
    [
      "with a weight that is none",
      said(hooked("Job", "a", { "helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-weight": "soon" })),
      /helm\.sh\/hook-weight "soon" is no whole number/,
    ],
  ])("%s says what to do", async (_, answer, words) => {
    expect((await refusal(stackFromChart("shop", chart, surroundings(answer), signal))).message).toMatch(words);
  });

  it("leaves its CustomResourceDefinitions and tests out, and says so", async () => {
    const crd =
      "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.example.com}\n";
    const test = hooked("Pod", "try", { "helm.sh/hook": "test" });
    const { stack, notes } = await made(
      said(`${crd}---\n${test}apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n`),
    );
    expect(JSON.stringify(stack)).not.toMatch(/CustomResourceDefinition|try/);
    expect(notes).toBe(
      "of the chart:\n  Pod try: a test of helm's, left out\n" +
        "  1 CustomResourceDefinition: left out, because only the customer installs them\n",
    );
  });

  it("has its hooks before and after it, by their weights, and says what they have become", async () => {
    const before = "pre-install, pre-upgrade";
    const { stack, notes } = await made(
      said(
        hooked("ServiceAccount", "migrate", { "helm.sh/hook": before, "helm.sh/hook-weight": "-5" }) +
          hooked("Job", "migrate", {
            ...{ "helm.sh/hook": before, "helm.sh/hook-weight": "+5" },
            "helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded",
          }) +
          hooked("Job", "warm", { "helm.sh/hook": "post-upgrade,post-install,test" }),
      ),
    );
    const found = JSON.stringify(stack);
    expect(found).toContain('"annotations":{"sallyport.dev/hook":"pre","sallyport.dev/hook-weight":"-5"}');
    expect(found).toContain(
      '{"sallyport.dev/hook":"pre","sallyport.dev/hook-weight":"5","sallyport.dev/hook-run":"1.4.0"}',
    );
    expect(found).toContain('{"sallyport.dev/hook":"post","sallyport.dev/hook-run":"1.4.0"}');
    expect(notes).toBe(
      "of the chart:\n" +
        "  ServiceAccount migrate: is applied before the rest, weight -5, with each release\n" +
        "  Job migrate: runs before the rest, weight 5, with each release; it stays until the next release, though its hook-delete-policy is hook-succeeded\n" +
        "  Job warm: runs after the rest, weight 0, with each release\n",
    );
  });

  it("keeps volume claims, and nothing else that it says is to be kept", async () => {
    const keep = { "helm.sh/resource-policy": "keep" };
    const { notes } = await made(said(hooked("PersistentVolumeClaim", "a", keep)));
    expect(notes).toContain("PersistentVolumeClaim a: stays when a release lacks it");
    const refused = stackFromChart("shop", chart, surroundings(said(hooked("ConfigMap", "a", keep))), signal);
    expect((await refusal(refused)).message).toContain(
      "ConfigMap a: helm.sh/resource-policy keep has no place in a release",
    );
  });

  it("that makes a value by chance is told", async () => {
    let calls = 0;
    const notes: string[] = [];
    const tools = {
      ...surroundings(),
      error: (text: string) => void notes.push(text),
      runTool: async () => {
        calls += 1;
        return said(`apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {key: k${calls}}\n`);
      },
    };
    await stackFromChart("shop", chart, tools, signal);
    expect(notes.at(-1)).toContain("ConfigMap a: differs each time that helm renders it");
  });
});
