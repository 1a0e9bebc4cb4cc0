import { expect, test } from "vitest";
import { configFaults, isExternalBinding } from "./rendered-config.ts";

test.each<[string, unknown]>([
  ["a Secret", { secret: "shop-db" }],
  ["a ConfigMap", { configMap: "shop.db-1" }],
  ["some of its keys", { secret: "a", env: { DB_HOST: "host", db_port: "tls.port_1" } }],
])("a binding names %s", (_, value) => {
  expect(isExternalBinding(value)).toBe(true);
});

test.each<[string, unknown]>([
  ["nothing", {}],
  ["two", { secret: "a", configMap: "b" }],
  ["what is not known", { secret: "a", namespace: "other" }],
  ["no object's name", { secret: "Shop DB" }],
  ["a name that climbs", { secret: "../a" }],
  ["a name that is too long", { secret: "a".repeat(254) }],
  ["a variable that is none", { secret: "a", env: { "A B": "key" } }],
  ["a key that is none", { secret: "a", env: { A: "a/b" } }],
  ["a value instead of a key", { secret: "a", env: { A: { value: "1" } } }],
  ["text", "shop-db"],
])("a binding never names %s", (_, value) => {
  expect(isExternalBinding(value)).toBe(false);
});

test("a configuration may have more than is rendered, and each fault has its place", () => {
  const variable = { name: "A", value: "1", type: "plain", later: true };
  const config = { environmentVariables: { variables: [variable], hash: "" }, inputValues: {}, externalBindings: {} };
  expect(configFaults({ ...config, deploymentName: "shop" })).toEqual([]);
  const spoilt = {
    ...config,
    inputValues: { a: null },
    environmentVariables: { variables: [{ ...variable, name: "a-b" }] },
  };
  expect(configFaults(spoilt).map(({ path }) => path)).toContain("environmentVariables.variables.0.name");
  const places = configFaults({ ...config, inputValues: { a: null } }).map(({ path }) => path);
  expect(new Set(places)).toEqual(new Set(["inputValues.a"]));
  expect(configFaults(null)).toHaveLength(1);
});
