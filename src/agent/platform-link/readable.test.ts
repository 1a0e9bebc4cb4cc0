import fc from "fast-check";
import { expect, test } from "vitest";
import { printable } from "../../crds/printable.ts";
import { isReadable } from "./readable.ts";

test("text of others is readable after printing it, whatever it was", () => {
  const text = fc.string({ unit: "binary", maxLength: 2_000 });
  fc.assert(
    fc.property(text, (value) => {
      expect(isReadable(printable(value, 2_000))).toBe(true);
      if (isReadable(value)) expect(printable(value, 2_000)).toBe(value);
    }),
  );
});
