import Type, { type Static } from "typebox";
import { Nullable, Strict, Timestamp } from "../wire/schema.ts";

/** In the body of a call that may destroy something. */
export const AcceptStale = Type.Optional(
  Type.Boolean({
    default: false,
    description:
      "Goes on although the deployment's resources were last observed more than 180 s ago. Kept on the record; of a plan the customer reads it in the grant.",
  }),
);

/** On the record of what was asked for on old knowledge. */
export const AcceptedStale = Nullable(
  Strict({
    observedAt: Timestamp,
    ageSeconds: Type.Integer({ minimum: 0, description: "When the caller accepted it." }),
  }),
);
export type AcceptedStale = Static<typeof AcceptedStale>;
