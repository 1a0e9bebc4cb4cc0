import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import type { ExternalBinding, RenderedConfig } from "../../../contract/deployments/rendered-config.ts";
import type { StackInput } from "../../../contract/deployments/stack.ts";
import { environmentOf } from "./environment.ts";

type Variable = RenderedConfig["environmentVariables"]["variables"][number];

function environment({
  inputs = [],
  variables = [],
  values = {},
  bindings = [],
}: {
  readonly inputs?: readonly object[];
  readonly variables?: readonly Partial<Variable>[];
  readonly values?: RenderedConfig["inputValues"];
  readonly bindings?: readonly ExternalBinding[];
}) {
  const config = {
    environmentVariables: { variables: variables.map((each) => ({ type: "plain", ...each }) as Variable) },
    inputValues: values,
    externalBindings: {},
  };
  const asked = inputs.map((each) => ({ kind: "string", label: "L", required: false, ...each }) as StackInput);
  return environmentOf("web", { inputs: asked, config }, bindings);
}
const given = (about: Parameters<typeof environment>[0]) =>
  Object.fromEntries(
    environment(about).env.map((entry) => [entry.name, "value" in entry ? entry.value : entry.valueFrom]),
  );

/** What a kubelet makes of a value; k8s.io/kubernetes/third_party/forked/golang/expansion, without variables. */
function expanded(value: string): string {
  let out = "";
  for (let at = 0; at < value.length; at += 1) {
    const next = value[at + 1];
    if (value[at] !== "$" || next === undefined) out += value[at];
    else if (next === "$") {
      out += "$";
      at += 1;
    } else if (next === "(" && value.includes(")", at)) {
      const end = value.indexOf(")", at);
      out += `<${value.slice(at + 2, end)}>`;
      at = end;
    } else out += "$";
  }
  return out;
}

test("property: a value arrives in the container as it was entered", () => {
  const value = fc.string({ unit: fc.constantFrom("$", "(", ")", "A", " ") });
  fc.assert(
    fc.property(value, (value) => {
      const { A } = given({ variables: [{ name: "A", value }] });
      expect(expanded(String(A))).toBe(value);
    }),
  );
  expect(expanded("$(A)")).not.toBe("$(A)");
});

describe("of two with one name", () => {
  const inputs = [{ id: "a", env: [{ name: "A" }] }];
  const values = { a: "input" };
  const variables = [{ name: "A", value: "variable" }];
  const bindings = [{ secret: "s", env: { A: "key" } }];
  it.each<[string, Parameters<typeof environment>[0], unknown]>([
    [
      "an input's answer counts more than its default",
      { inputs: [{ ...inputs[0], default: { type: "string", value: "d" } }], values },
      "input",
    ],
    [
      "the default counts where there is no answer",
      { inputs: [{ ...inputs[0], default: { type: "number", value: 3 } }] },
      "3",
    ],
    ["a variable counts more than an input", { inputs, values, variables }, "variable"],
    [
      "a binding counts more than a variable",
      { inputs, values, variables, bindings },
      { secretKeyRef: { name: "s", key: "key" } },
    ],
    [
      "the resource's own binding, which is the last, counts more than another",
      { bindings: [...bindings, { configMap: "c", env: { A: "k" } }] },
      { configMapKeyRef: { name: "c", key: "k" } },
    ],
  ])("%s", (_, about, value) => {
    expect(given(about)).toEqual({ A: value });
  });
});

describe("what a resource gets", () => {
  it.each<[string, readonly string[] | null | undefined, boolean]>([
    ["is what has no targets", undefined, true],
    ["is what has null", null, true],
    ["is what names it", ["api", "web"], true],
    ["is what begins as it does", ["we*"], true],
    ["is not what names another", ["we", "webs"], false],
    ["is not what names none", [], false],
  ])("%s", (_, targetResources, isGiven) => {
    const variables = [
      { name: "A", value: "1", ...(targetResources !== undefined && { targetResources: targetResources as string[] }) },
    ];
    expect(given({ variables })).toEqual(isGiven ? { A: "1" } : {});
    const inputs = [{ id: "a", env: [{ name: "A", targetResources }] }];
    expect(given({ inputs, values: { a: "1" } })).toEqual(isGiven ? { A: "1" } : {});
  });

  it("is no answer to a question of another platform, of no question, or of one without variables", () => {
    const inputs = [{ id: "aws", platforms: ["aws"], env: [{ name: "A" }] }, { id: "none" }];
    expect(given({ inputs, values: { aws: "1", none: "1", gone: "1" } })).toEqual({});
  });

  it("is lists as JSON, and whole Secrets and ConfigMaps under their keys' own names", () => {
    const inputs = [{ id: "a", kind: "stringList", env: [{ name: "A" }] }];
    const { env, envFrom } = environment({
      inputs,
      values: { a: ["1,2", "3"] },
      bindings: [{ secret: "s" }, { configMap: "c" }],
    });
    expect(env).toEqual([{ name: "A", value: '["1,2","3"]' }]);
    expect(envFrom).toEqual([{ secretRef: { name: "s" } }, { configMapRef: { name: "c" } }]);
  });
});

describe("a secret value", () => {
  const variables = [{ name: "A", value: "canary", type: "secret" as const }];
  const inputs = [{ id: "a", kind: "secret", env: [{ name: "A" }] }];
  const values = { a: "canary" };
  it.each<[string, Parameters<typeof environment>[0], string]>([
    ["of a variable", { variables }, "config.environmentVariables.A"],
    ["of an input", { inputs, values }, "config.inputValues.a"],
    [
      "of a target that is secret",
      { inputs: [{ id: "a", env: [{ name: "A", type: "secret" }] }], values },
      "config.inputValues.a",
    ],
    [
      "of a default",
      { inputs: [{ ...inputs[0], default: { type: "string", value: "canary" } }] },
      "config.inputValues.a",
    ],
    [
      "that takes the place of a plain one",
      { variables: [{ name: "A", value: "1" }, ...variables] },
      "config.environmentVariables.A",
    ],
  ])("%s is noted and nowhere to be seen", (_, about, path) => {
    const seen = environment(about);
    expect([...seen.secrets]).toEqual([["A", { value: "canary", path }]]);
    expect(JSON.stringify({ ...seen, secrets: [] })).not.toContain("canary");
    // Not as a hash either: one of few possible values could be found by trying.
    expect(seen.hash).toBe(environment({}).hash);
  });

  it("is not needed where the customer's own Secret gives it, or a plain value takes its place", () => {
    expect(environment({ variables, bindings: [{ secret: "s", env: { A: "k" } }] }).secrets.size).toBe(0);
    expect(environment({ inputs, values, variables: [{ name: "A", value: "1" }] }).secrets.size).toBe(0);
  });

  it("is still needed where a whole Secret is named: what is in it is not known here", () => {
    expect(environment({ variables, bindings: [{ secret: "s" }] }).secrets.size).toBe(1);
  });
});

test("the hash changes with everything that the containers get, and with nothing else", () => {
  const variables = [{ name: "A", value: "1" }];
  const { hash } = environment({ variables });
  expect(environment({ variables, inputs: [{ id: "a" }], values: { a: "1" } }).hash).toBe(hash);
  expect(environment({ variables: [...variables, { name: "B", value: "", targetResources: ["api"] }] }).hash).toBe(
    hash,
  );
  const others = [
    environment({ variables: [{ name: "A", value: "2" }] }),
    environment({ variables, bindings: [{ secret: "s" }] }),
    environment({ variables, bindings: [{ secret: "t" }] }),
  ];
  expect(new Set([hash, ...others.map((each) => each.hash)]).size).toBe(4);
});
