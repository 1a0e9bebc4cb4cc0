import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Changes with everything that a report changes in the resources of a deployment: lists of them are named by it. */
export const resourcesVersion: Migration = {
  async up(db) {
    await sql`alter table deployments add column resources_version text`.execute(db);
  },
};
