import Type, { type Static } from "typebox";
import { Nullable, Strict, Words } from "./schema.ts";

/** Who asked for something: a user, or an API key. */
export const Actor = Strict({
  kind: Words(["user", "serviceAccount"]),
  id: Type.String(),
  email: Nullable(Type.String()),
});
export type Actor = Static<typeof Actor>;
