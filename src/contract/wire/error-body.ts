import Type, { type Static } from "typebox";
import { Nullable, Strict } from "./schema.ts";

/** What every refusal answers (§0.4): all nine fields are there, null when there is nothing to say. */
export const ErrorBody = Strict({
  code: Type.String({ description: "For programs; never changes its meaning. A newer platform may know more." }),
  message: Type.String({ description: "For people." }),
  source: Type.Null({ description: "Reserved for what caused it; never set in answers." }),
  retryable: Type.Boolean({ description: "The same request may succeed later, unchanged." }),
  context: Nullable(
    Type.Record(Type.String(), Type.Unknown(), {
      description: "Details by code, such as `issues` [{path, message}] or `requiredRoles`.",
    }),
  ),
  hint: Nullable(Type.String({ description: "What to do next." })),
  httpStatusCode: Type.Integer(),
  internal: Type.Boolean({ description: "True: the detail is only in the platform's log, under `requestId`." }),
  requestId: Type.String({ description: "The same as the header `x-request-id`." }),
});
export type ErrorBody = Static<typeof ErrorBody>;
