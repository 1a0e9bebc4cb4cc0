import { sql } from "kysely";
import type { Migration } from "kysely/migration";

/** A deployment's manager is told by a type that the described API has: its clients refuse a page with any other. */
export const describedEvents: Migration = {
  async up(db) {
    await sql`
      update events set type = 'DeploymentEnvironmentUpdated',
        data = data || '{"type": "DeploymentEnvironmentUpdated", "changedKeys": ["managerId"]}'::jsonb ||
          case when type = 'DeploymentWaitingForManager' then '{"waitsFor": "manager"}'::jsonb else '{}'::jsonb end
      where type in ('DeploymentManagerChanged', 'DeploymentWaitingForManager')`.execute(db);
  },
};
