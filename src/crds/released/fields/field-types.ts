import type { UsedList } from "../may-use.ts";

/**
 * Every field of one type of the API, by what it names. A field is in one of these; `ruled` may also be in another. That none
 * is missing, a test asks of the API server's own OpenAPI.
 */
export interface TypeFields {
  /** Names nothing outside of the release. */
  readonly own?: readonly string[];
  /** Holds a field, a list or a map of another type. What follows an `@` tells two uses of one type apart. */
  readonly of?: Readonly<Record<string, string>>;
  /** May not be set. */
  readonly refused?: readonly string[];
  /** Some values may not be set, by a rule of the field's own. */
  readonly ruled?: readonly string[];
  /** Names what the customer has named in `releases.mayUse`. Keys, where it is a map. */
  readonly mayUse?: Readonly<Record<string, UsedList>>;
  /** Names an object of this kind that the release brings, or that the customer has named in `releases.mayRead`. */
  readonly reads?: Readonly<Record<string, string>>;
  /** The plan has a line of its value; of a name of this kind only when the release does not bring the object. */
  readonly shown?: Readonly<Record<string, string>>;
}
export type Types = Readonly<Record<string, TypeFields>>;

export const words = (text: string): readonly string[] => text.split(" ");
/** Fields whose values are shown as they are. */
export const values = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(words(text).map((field) => [field, ""]));
