import { expect, test } from "vitest";
import { podsFor } from "./pod-limit.ts";

test("as many pods are held as were measured to fit the heap, and never more than 200,000", () => {
  const mebibytes = 2 ** 20;
  // The heap that the shipped limit of 384 MiB gives, with 8 MiB of young generation.
  expect(podsFor(312 * mebibytes)).toBe(53_040);
  expect(podsFor(4_144 * mebibytes)).toBe(200_000);
});
