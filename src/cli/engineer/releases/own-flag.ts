import type { Flag } from "../verbs.ts";

/** A flag that is of the command and not of a call. */
export function ownFlag(name: string, description: string, type: "string" | "boolean" = "string"): Flag {
  return { name, property: name, places: [], schema: { type, description }, required: false };
}
