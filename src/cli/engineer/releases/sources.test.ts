import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { documentsIn, objectsOf } from "./located-objects.ts";
import { Faults, manifestStack } from "./manifest-stack.ts";
import { stackFromFile, stackFromManifests } from "./sources.ts";
import { refusal, surroundings } from "./testing/surroundings.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-releases-"));
  await writeFile(join(folder, "api.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: api\n");
  await writeFile(join(folder, "roles.yml"), "# of ours\napiVersion: v1\nkind: Secret\nmetadata:\n  name: key\n");
  await writeFile(join(folder, "readme.md"), "not read");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const signal = new AbortController().signal;
const OBJECT = "apiVersion: v1\nkind: ConfigMap\n";
describe("manifests", () => {
  it("of a folder and of standard input are one stack, and what the platform would refuse is told with its place", async () => {
    const found = await refusal(stackFromManifests("shop", [folder, "-"], surroundings(), signal));
    expect(found.exitCode).toBe(10);
    expect(found.message).toBe(
      `nothing was sent, because the platform would refuse it:\n  ${join(folder, "roles.yml")}:3 (document 1): ` +
        "Secret key: kind Secret is never installed by a release: name one that the customer provides",
    );
    const made = await stackFromManifests("shop", [join(folder, "api.yaml"), "-"], surroundings(), signal);
    expect(made).toMatchObject({ what: "objects", counts: { ConfigMap: 2 } });
    const twice = await refusal(stackFromManifests("shop", ["-", "-"], surroundings(), signal));
    expect(twice.message).toContain("-:1 (document 1): ConfigMap typed is also in -:1");
  });

  it("that are for kustomize, absent or empty are refused with what helps", async () => {
    const other = await mkdtemp(join(folder, "kustomize-"));
    const from = async (path: string) =>
      (await refusal(stackFromManifests("shop", [path], surroundings(), signal))).message;
    expect(await from(other)).toMatch(
      /has no \.yaml, \.yml or \.json file right in it; folders below it are not read$/,
    );
    await writeFile(join(other, "kustomization.yaml"), "resources: []\n");
    expect(await from(other)).toContain("kustomize build");
    expect(await from(join(other, "nothing"))).toMatch(/nothing cannot be read: it is not there$/);
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
      /4 \(document 1\): is a key that is no text, number or boolean; \{\{ is of a template/,
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
    expect((await refusal(stackFromManifests("shop", [file], surroundings(), signal))).message).toMatch(words);
  });

  it("are given up between two documents when a signal comes", async () => {
    const file = join(folder, "many.yaml");
    await writeFile(file, `${OBJECT}metadata: {name: a}\n---\n`.repeat(100));
    const stop = new AbortController();
    const made = stackFromManifests("shop", [file], surroundings(), stop.signal);
    stop.abort(new Error("stopped"));
    await expect(made).rejects.toThrow("stopped");
    await rm(file);
  });

  it("with texts that a terminal shows falsely are refused, each with its place, and those of people pass", async () => {
    const file = join(folder, "texts.yaml");
    const texts = ["a: '\u001b[2J'", 'b: "x\\u202ey"', "size: 9007199254740993", "c: '\ufeffx\u200c\u200d\ue0b0'"];
    await writeFile(file, `${OBJECT}metadata: {name: a}\ndata:\n${texts.map((text) => `  ${text}\n`).join("")}`);
    expect(
      (await refusal(stackFromManifests("shop", [file], surroundings(), signal))).message.split("\n").slice(1),
    ).toEqual([
      `  ${file}:5 (document 1): ConfigMap a: data.a has the character U+001B, which a terminal shows falsely`,
      `  ${file}:6 (document 1): ConfigMap a: data.b has the character U+202E, which a terminal shows falsely`,
      `  ${file}:7 (document 1): ConfigMap a: data.size is a number that JSON readers round: put it in quotes`,
    ]);
    await rm(file);
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
