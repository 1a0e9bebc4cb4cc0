import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import { parseTarget, queryValue, queryValues, toTarget, withValue } from "./target.ts";

test.each([
  "",
  "api",
  "//api",
  "/api//v1",
  "/api/v1/",
  "/api/v1/namespaces/shop/../kube-system/pods",
  "/api/v1/namespaces/shop/%2e%2e/kube-system/pods",
  "/api/v1/namespaces/shop%2fpods",
  "/api/v1/namespaces/./pods",
  "/api/v1/pods#x",
  "/api/v1/pöds",
  "/api/v1/pods\u0000",
  "/api/v1/pods HTTP/1.1",
  "/api\\v1",
  "/api/v1/pods;x=1",
  "/api/v1/pods?watch=1&watch=0",
  "/api/v1/pods?watch=1&%77atch=0",
  "/api/v1/pods?a=1;b=2",
  "/api/v1/pods?a=%ff",
  "/api/v1/pods?a=%",
  "/api/v1/pods?=1",
  "/api/v1/pods?a=1&",
  "http://evil.example/api/v1/pods",
  `/${"a".repeat(3_000)}`,
  `/api?a=${"b".repeat(20_000)}`,
])("%j is refused", (text) => {
  expect(parseTarget(text)).toBeUndefined();
});

test("a query is decoded, and its order kept", () => {
  const target = parseTarget(
    "/api/v1/namespaces/shop/pods/web-1/exec?command=sh&command=-c&command=ls+-l%20%2f&tty=true",
  );
  if (target === undefined) throw new Error("refused");
  expect(queryValues(target, "command")).toEqual(["sh", "-c", "ls -l /"]);
  expect(queryValue(target, "tty")).toBe("true");
  expect(toTarget(withValue(target, "tty", "a b"))).toMatch(/command=ls\+-l%20%2f&tty=a%20b$/);
});

const piece = fc.oneof(
  fc.constantFrom("api", "v1", "pods", "..", ".", "", "%2e", "%2F", "a", "namespaces", "ö", "\\", ";"),
  fc.string({ maxLength: 8 }),
);

test("property: a target goes up as it came, or not at all", () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), fc.option(fc.webQueryParameters()), (parts, query) => {
      const text = `/${parts.join("/")}${query === null ? "" : `?${query}`}`;
      const target = parseTarget(text);
      if (target === undefined) return;
      expect(toTarget(target)).toBe(text);
      // The URL parser of the platform finds the same path: nothing in it is resolved, decoded or cut.
      expect(new URL(text, "http://host").pathname).toBe(`/${target.segments.join("/")}`);
      expect(target.segments.some((each) => each === "" || each.includes("..") || each.includes("%"))).toBe(false);
    }),
    { numRuns: runs(2_000) },
  );
});

test("property: what kubectl would send is read as it was meant", () => {
  const name = fc.stringMatching(/^[a-z0-9]([-a-z0-9.]{0,20}[a-z0-9])?$/).filter((each) => !each.includes(".."));
  fc.assert(
    fc.property(name, fc.array(fc.string({ maxLength: 20 }), { minLength: 1, maxLength: 5 }), (pod, command) => {
      fc.pre(command.every((each) => each.isWellFormed()));
      const query = new URLSearchParams(command.map((each): [string, string] => ["command", each]));
      const target = parseTarget(`/api/v1/namespaces/shop/pods/${pod}/exec?${query}`);
      expect(target && queryValues(target, "command")).toEqual(command);
    }),
  );
});
