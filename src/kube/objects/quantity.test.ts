import { expect, test } from "vitest";
import { quantityOf } from "./quantity.ts";

test.each([
  ["0", 0],
  ["3", 3],
  ["250m", 0.25],
  ["1500000n", 0.0015],
  ["12u", 0.000012],
  ["1.5", 1.5],
  [".5", 0.5],
  ["2.", 2],
  ["128Mi", 134_217_728],
  ["1024Ki", 1_048_576],
  ["1.5Gi", 1_610_612_736],
  ["2k", 2_000],
  ["1E", 1e18],
  ["1e3", 1_000],
  ["5E-1", 0.5],
  ["", undefined],
  ["-1", undefined],
  ["1 Mi", undefined],
  ["1mi", undefined],
  ["NaN", undefined],
  ["1e999", undefined],
  [".", undefined],
])("%s is %s", (text, value) => {
  const number = quantityOf(text);
  if (value === undefined) expect(number).toBeUndefined();
  else expect(number).toBeCloseTo(value, 12);
});
