import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { acceptanceLine, acceptedNamespaces, parseNamedDeployments } from "./accepted-namespaces.ts";

describe("the namespaces that a deployment is accepted for", () => {
  const managed = (deploymentId: string, accepted?: string[]) => ({
    spec: { deploymentId, name: "x", ...(accepted === undefined ? {} : { acceptedNamespaces: accepted }) },
  });

  test.each([
    ["none before anybody said a word", managed("dep_a"), new Map(), []],
    ["none when the customer said no", managed("dep_a", []), new Map(), []],
    ["none without an object and without values", undefined, new Map(), []],
    ["what its object says", managed("dep_a", ["shop"]), new Map(), ["shop"]],
    ["what the values say", managed("dep_a"), new Map([["dep_a", ["jobs"]]]), ["jobs"]],
    ["as its object orders them", managed("dep_a", ["shop", "jobs"]), new Map(), ["shop", "jobs"]],
    [
      "both, each once, what the values say first",
      managed("dep_a", ["shop", "jobs"]),
      new Map([["dep_a", ["jobs"]]]),
      ["jobs", "shop"],
    ],
    ["not what another's values say", managed("dep_a"), new Map([["dep_b", ["jobs"]]]), []],
    ["not what another's object says", managed("dep_b", ["shop"]), new Map(), []],
  ])("%s", (_, object, named, expected) => {
    expect(acceptedNamespaces("dep_a", object, named)).toEqual(expected);
  });
});

describe("SALLYPORT_DEPLOYMENTS", () => {
  test("names each deployment with its namespaces", () => {
    expect([...parseNamedDeployments("dep_x=shop+jobs, dep_y=shop,")]).toEqual([
      ["dep_x", ["shop", "jobs"]],
      ["dep_y", ["shop"]],
    ]);
    expect(parseNamedDeployments("").size).toBe(0);
    expect([...parseNamedDeployments("dep_x=")]).toEqual([["dep_x", []]]);
  });

  test.each(["dep_x", "=shop", "dep_x=Shop", "dep_x=shop=jobs", "dep_x=a,dep_x=b", "dep x=a", "dep_x=*", "../x=a"])(
    "is refused as %s",
    (text) => {
      expect(() => parseNamedDeployments(text)).toThrow("deployments with their namespaces, such as");
    },
  );

  test("is read back from how the chart writes it, whatever the pairs", () => {
    const word = fc.stringMatching(/^[a-z][a-z0-9]{0,10}$/);
    const pairs = fc.uniqueArray(fc.tuple(word, fc.uniqueArray(word, { maxLength: 5 })), {
      maxLength: 10,
      selector: ([id]) => id,
    });
    fc.assert(
      fc.property(pairs, (drawn) => {
        const text = drawn.map(([id, namespaces]) => `dep_${id}=${namespaces.join("+")}`).join(",");
        const expected = drawn.map(([id, namespaces]) => [`dep_${id}`, namespaces]);
        expect([...parseNamedDeployments(text)]).toEqual(expected);
      }),
    );
  });
});

test("the line that accepts holds nothing but the object's name, and its placeholder is no namespace", () => {
  const line = acceptanceLine("dep_X.1", "sallyport-grants");
  expect(line).toBe(
    `kubectl patch manageddeployments.sallyport.dev dep-x-1 -n sallyport-grants --type=merge -p '{"spec":{"acceptedNamespaces":["YOUR-NAMESPACE"]}}'`,
  );
});
