import fc from "fast-check";
import { expect, test } from "vitest";
import { joinStringOf, readJoinString } from "./join-string.ts";

const FIELDS = {
  token: `spj_${"a".repeat(16)}.${"B".repeat(32)}`,
  url: "https://join.customer.example:8443",
  clusterId: `cluster_${"0".repeat(28)}`,
  pin: `sha256//${"A".repeat(43)}=`,
  exp: 4_102_444_800,
};
const encoded = (value: unknown): string => `spj1_${Buffer.from(JSON.stringify(value)).toString("base64url")}`;

test("a join string is read back, and has no sign that a shell reads", () => {
  const text = joinStringOf(FIELDS);
  expect(text).toMatch(/^spj1_[A-Za-z0-9_-]+$/);
  expect(readJoinString(text)).toEqual(FIELDS);
});

test.each<[string, unknown]>([
  ["no object", "text"],
  ["null", null],
  ["no fields", {}],
  ["another token", { ...FIELDS, token: "spj_x" }],
  ["plain HTTP", { ...FIELDS, url: "http://join.customer.example" }],
  ["a path", { ...FIELDS, url: "https://join.customer.example/v1" }],
  ["a command in the address", { ...FIELDS, url: "https://join.example;reboot" }],
  ["a user in the address", { ...FIELDS, url: "https://a@join.example" }],
  ["a line break at the end of the address", { ...FIELDS, url: "https://join.example\n" }],
  ["two pins", { ...FIELDS, pin: `${FIELDS.pin};${FIELDS.pin}` }],
  ["another cluster's form", { ...FIELDS, clusterId: "cluster_1" }],
  ["beyond all calendars", { ...FIELDS, exp: 9_007_199_254_740_991 }],
  ["no number", { ...FIELDS, exp: "4102444800" }],
  ["a fraction", { ...FIELDS, exp: 1.5 }],
])("with %s it is none", (_, value) => {
  expect(readJoinString(encoded(value))).toBeUndefined();
});

test("whatever is read was checked, and hostile text throws nothing", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.jsonValue().map(encoded), fc.string({ maxLength: 3000 })), (text) => {
      expect(readJoinString(text)).toBeUndefined();
    }),
  );
  expect(readJoinString(`spj1_${"A".repeat(5000)}`)).toBeUndefined();
});
