import { expect, it } from "vitest";
import { isSelected, type Labels, meets, parseSelector } from "./label-match.ts";

const SHOP: Labels = { app: "shop", tier: "web", empty: "" };

it.each([
  ["app=shop", true],
  ["app==shop", true],
  ["app = shop", true],
  ["app=other", false],
  ["app!=shop", false],
  ["app!=other", true],
  ["missing!=other", true],
  ["app", true],
  ["missing", false],
  ["!missing", true],
  ["! missing", true],
  ["!app", false],
  ["empty=", true],
  ["missing=", false],
  ["tier in (web, api)", true],
  ["tier in (api)", false],
  ["tier notin (api,db)", true],
  ["tier notin (web)", false],
  ["missing notin (web)", true],
  ["app=shop,tier in (web,api),!missing", true],
  ["app=shop,tier in (api,db)", false],
  ["constructor", false],
])("%s selects: %s", (text, selects) => {
  const requirements = parseSelector(text);
  expect(requirements && meets(requirements, SHOP)).toBe(selects);
});

it.each(["app in web", "a b", "=x", "app in (a", "a=b,,c=d"])("%s is no selector", (text) => {
  expect(parseSelector(text)).toBeUndefined();
});

it("a selector of an object selects by both of its parts, an empty one everything", () => {
  const expression = { key: "tier", operator: "In", values: ["web"] };
  expect(isSelected({ matchLabels: {}, matchExpressions: [] }, SHOP)).toBe(true);
  expect(isSelected({ matchLabels: { app: "shop" }, matchExpressions: [expression] }, SHOP)).toBe(true);
  expect(isSelected({ matchLabels: { app: "shop" }, matchExpressions: [{ ...expression, values: [] }] }, SHOP)).toBe(
    false,
  );
  expect(isSelected({ matchLabels: { app: "other" }, matchExpressions: [expression] }, SHOP)).toBe(false);
  expect(isSelected({ matchLabels: {}, matchExpressions: [{ ...expression, operator: "Near" }] }, SHOP)).toBe(false);
});
