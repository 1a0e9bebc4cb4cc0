import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { FriendlyError } from "../../kernel/command.ts";
import type { Surroundings, ToolAnswer } from "../calling.ts";
import { documentsIn, objectsOf } from "./located-objects.ts";
import { Faults, manifestStack } from "./manifest-stack.ts";
import { stackFromChart, stackFromFile, stackFromManifests } from "./sources.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-releases-"));
  await writeFile(join(folder, "api.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: api\n");
  await writeFile(join(folder, "roles.yml"), "# of ours\napiVersion: v1\nkind: Secret\nmetadata:\n  name: key\n");
  await writeFile(join(folder, "readme.md"), "not read");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const OBJECT = "apiVersion: v1\nkind: ConfigMap\n";
const signal = new AbortController().signal;
const surroundings = (said?: ToolAnswer, called?: (args: readonly string[]) => void): Surroundings => ({
  ...{ env: {}, isTTY: false, askSecret: undefined, openBrowser: undefined },
  clock: undefined as never,
  out: () => undefined,
  error: () => undefined,
  readInput: async () => "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: typed}\n",
  async runTool(_program, args) {
    called?.(args);
    return said;
  },
});
const refusal = async (made: Promise<unknown>): Promise<FriendlyError> => {
  const error = await made.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof FriendlyError) return error;
  throw new Error(`no refusal: ${error}`);
};

describe("manifests", () => {
  it("of a folder and of standard input are one stack, and what the platform would refuse is told with its place", async () => {
    const found = await refusal(stackFromManifests("shop", [folder, "-"], surroundings()));
    expect(found.exitCode).toBe(10);
    expect(found.message).toBe(
      `nothing was sent, because the platform would refuse it:\n  ${join(folder, "roles.yml")}:3 (document 1): ` +
        "Secret key: kind Secret is never installed by a release: name one that the customer provides",
    );
    const made = await stackFromManifests("shop", [join(folder, "api.yaml"), "-"], surroundings());
    expect(made).toMatchObject({ what: "objects", counts: { ConfigMap: 2 } });
    const twice = await refusal(stackFromManifests("shop", ["-", "-"], surroundings()));
    expect(twice.message).toContain("-:1 (document 1): ConfigMap typed is also in -:1");
  });

  it("that are for kustomize, absent or empty are refused with what helps", async () => {
    const other = await mkdtemp(join(folder, "kustomize-"));
    const from = async (path: string) => (await refusal(stackFromManifests("shop", [path], surroundings()))).message;
    expect(await from(other)).toMatch(
      /has no \.yaml, \.yml or \.json file right in it; folders below it are not read$/,
    );
    await writeFile(join(other, "kustomization.yaml"), "resources: []\n");
    expect(await from(other)).toContain("kustomize build");
    expect(await from(join(other, "nothing"))).toMatch(/nothing is not there$/);
    await writeFile(join(other, "empty.yaml"), "# nothing\n");
    expect(await from(join(other, "empty.yaml"))).toBe("there is no object to release");
  });

  it.each<[string, string, RegExp]>([
    [
      "a template that is no YAML",
      "metadata:\n  name: {{ .a }\n",
      /; \{\{ is of a template: render it first, or .*--helm$/,
    ],
    [
      "a template in a name",
      `${OBJECT}metadata: {name: "{{ .Release.Name }}"}\n`,
      /must match pattern .*; \{\{ is of a template/,
    ],
    [
      "a template in place of a name",
      `${OBJECT}metadata:\n  name: {{ .Release.Name }}\n`,
      /metadata\.name must be string/,
    ],
    [
      "more than a stack has",
      `${OBJECT}metadata: {name: a}\ndata: {a: ${"x".repeat(600_000)}}\n`,
      /524288 are the most; the largest: ConfigMap a of .*\.yaml, 6\d+$/,
    ],
    ["nesting without an end", "[".repeat(20_000), /\(document 1\): is nested too deep$/],
    [
      "a list of another kind",
      `apiVersion: v1\nkind: SecretList\nitems: [{apiVersion: v1, kind: Secret, metadata: {name: a}}]\n`,
      /Secret a: kind Secret is never installed/,
    ],
  ])("%s is refused with what helps", async (_, text, words) => {
    const file = join(await mkdtemp(join(folder, "wrong-")), "wrong.yaml");
    await writeFile(file, text);
    expect((await refusal(stackFromManifests("shop", [file], surroundings()))).message).toMatch(words);
  });

  test("property: the order of files does not change the stack", () => {
    const text = (n: number) =>
      `apiVersion: v1\nkind: ${n % 2 === 0 ? "Service" : "ConfigMap"}\nmetadata: {name: a-${n}}\n`;
    const stackOf = (numbers: readonly number[]) => {
      const objects = objectsOf(documentsIn("a", numbers.map(text).join("---\n")), () => undefined);
      return manifestStack("shop", objects, new Faults()).stack;
    };
    const numbers = Array.from({ length: 12 }, (_, n) => n);
    fc.assert(
      fc.property(fc.shuffledSubarray(numbers, { minLength: 12 }), (shuffled) => {
        expect(JSON.stringify(stackOf(shuffled))).toBe(JSON.stringify(stackOf(numbers)));
      }),
      { numRuns: 20 },
    );
  });
});

it("a stack in a file is judged whole, with the line of each fault", async () => {
  const file = join(folder, "stack.json");
  await writeFile(
    file,
    '{"id": "shop", "resources": {\n  "web": {\n    "config": {"id": "web", "type": "container",\n      "image": 5},\n    "dependencies": [], "lifecycle": "live"}}}',
  );
  const found = await refusal(stackFromFile(file, surroundings()));
  expect(found.message).toContain(`${file}:4 (document 1): resources.web.config.image must be string`);
  await writeFile(
    file,
    "id: a\nresources:\n  web:\n    config: {type: container, id: web, imge: web}\n    dependencies: []\n    lifecycle: live\n",
  );
  const misspelt = await refusal(stackFromFile(file, surroundings()));
  expect(misspelt.message).toContain("resources.web.config.image is required, and there is only: type, id, imge");
  await writeFile(file, "id: a\nresources: {}\n");
  expect(await stackFromFile(file, surroundings())).toMatchObject({ what: "resources", counts: {} });
});

describe("a chart", () => {
  const chart = { chart: "./shop", values: ["a.yaml", "b.yaml"], namespace: undefined };
  const said = (stdout: string): ToolAnswer => ({ code: 0, stdout, stderr: "" });
  const rendered = (more: string) =>
    said(`---\n# Source: shop/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\n${more}`);

  it("is rendered by the engineer's helm for a namespace that is left out again", async () => {
    const calls: (readonly string[])[] = [];
    const answer = rendered("metadata: {name: a, namespace: namespace-of-the-deployment}\n");
    const made = await stackFromChart(
      "shop",
      chart,
      surroundings(answer, (args) => calls.push(args)),
      signal,
    );
    expect(calls).toEqual([
      [
        ...[
          "template",
          "shop",
          "./shop",
          "--namespace",
          "namespace-of-the-deployment",
          "--skip-tests",
          "--include-crds",
        ],
        ...["--values", "a.yaml", "--values", "b.yaml"],
      ],
    ]);
    expect(JSON.stringify(made.stack)).not.toContain("namespace");
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
    [
      "with a hook at another time",
      rendered("metadata: {name: a, annotations: {helm.sh/hook: pre-delete}}\n"),
      /helm's hook pre-delete has no place in a release/,
    ],
  ])("%s says what to do", async (_, answer, words) => {
    expect((await refusal(stackFromChart("shop", chart, surroundings(answer), signal))).message).toMatch(words);
  });

  it("leaves its CustomResourceDefinitions out, and says so", async () => {
    const crd =
      "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.example.com}\n";
    const map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    const notes: string[] = [];
    const heard = { ...surroundings(said(`${crd}---\n${map}`)), error: (text: string) => void notes.push(text) };
    const { stack } = await stackFromChart("shop", chart, heard, signal);
    expect(JSON.stringify(stack)).not.toContain("CustomResourceDefinition");
    expect(notes.at(-1)).toBe("left out, because only the customer installs them: 1 CustomResourceDefinition\n");
  });

  it("has its Jobs before and after it", async () => {
    const hook =
      "metadata: {name: a, annotations: {helm.sh/hook: 'pre-install,pre-upgrade', helm.sh/hook-weight: '5'}}";
    const job = said(`apiVersion: batch/v1\nkind: Job\n${hook}\n`);
    const { stack } = await stackFromChart("shop", chart, surroundings(job), signal);
    expect(JSON.stringify(stack)).toContain('"annotations":{"sallyport.dev/hook":"pre"}');
  });
});
