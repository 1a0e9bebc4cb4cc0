import { expect, test } from "vitest";
import { ApiError, type Status } from "../../../kube/client/api-error.ts";
import { refusalText } from "./refusal-text.ts";

type Cause = NonNullable<NonNullable<Status["details"]>["causes"]>[number];

const refusal = (status: number, message: string, causes: readonly Cause[] = []): ApiError =>
  new ApiError(`PATCH /x: ${status} ${message}`, { status, reason: "", body: { message, details: { causes } } });

test("of a field that is wrong it tells the field and the rule, and not what the field held", () => {
  const error = refusal(422, 'spec.selector: Invalid value: {"a":"hunter2"}: field is immutable', [
    {
      field: "spec.selector",
      reason: "FieldValueInvalid",
      message: 'Invalid value: {"a":"hunter2"}: field is immutable',
    },
    {
      field: "spec.type",
      reason: "FieldValueNotSupported",
      message: 'Unsupported value: "hunter2": supported values: "A"',
    },
    { field: "spec.ports[1]", reason: "FieldValueDuplicate", message: 'Duplicate value: "hunter2"' },
    { field: "spec.x", reason: "FieldValueInvalid", message: "hunter2" },
  ]);
  expect(refusalText(error)).toBe(
    "spec.selector: field is immutable; spec.type: a value that is not supported; spec.ports[1]: it is there twice; spec.x: it is invalid",
  );
});

test("of many fields it tells five", () => {
  const causes = Array.from({ length: 7 }, (_, index) => ({
    field: `f${index}`,
    reason: "FieldValueRequired",
    message: "Required value: it is needed",
  }));
  expect(refusalText(refusal(422, "", causes))).toMatch(/^f0: it is needed; .*f4: it is needed; and 2 more fields$/);
});

test.each([
  [
    "a webhook's words",
    refusal(403, 'admission webhook "w" denied the request: no\n  way'),
    'admission webhook "w" denied the request: no way',
  ],
  [
    "an error without an answer",
    new ApiError("GET /x: socket closed", { status: 0, reason: "NetworkError" }),
    "GET /x: socket closed",
  ],
  ["another error", new Error("broken"), "broken"],
  ["a long one, cut", refusal(400, "x".repeat(900)), `${"x".repeat(511)}…`],
])("of %s it tells them", (_, error, text) => {
  expect(refusalText(error)).toBe(text);
});
