import type { Static } from "typebox";
import Type from "typebox";
import { Email, HumanLine, Nullable, Strict, UserId } from "../wire/schema.ts";

/** Signing in without proof, on a developer's own machine. */
export const DevLogin = Strict({ email: Email, name: Type.Optional(HumanLine(1, 100)) });
export type DevLogin = Static<typeof DevLogin>;

export const DevLoginAnswer = Strict({
  user: Strict({ id: UserId, email: Type.String(), name: Type.String(), image: Nullable(Type.String()) }),
});
export type DevLoginAnswer = Static<typeof DevLoginAnswer>;
