import type { Migration } from "kysely/migration";
import { tenancy } from "./0001-tenancy.ts";

/** In order of name. A migration that has been released never changes; the next one repairs it. */
export const migrations: Readonly<Record<string, Migration>> = {
  "0001-tenancy": tenancy,
};
