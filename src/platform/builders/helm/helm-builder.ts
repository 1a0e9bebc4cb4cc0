import { type SqlBool, sql } from "kysely";
import { versionOf } from "../../areas/packages/store.ts";
import type { Db } from "../../database/db.ts";
import type { ObjectStore } from "../../ports/object-store.ts";
import { CHARTS, packageKey, packagePath } from "../package-link.ts";
import type { Builder } from "../runner.ts";
import { packChart } from "./chart.ts";

export interface HelmParts {
  readonly db: Db;
  readonly store: ObjectStore;
  /** Key made by `urlKey`. */
  readonly secret: Uint8Array;
  baseUrl(): string;
}

/** Builds the charts that releases contain. Releases without a chart are left to external builders. */
export function helmBuilder({ db, store, secret, baseUrl }: HelmParts): Builder {
  return {
    type: "helm",
    buildable: () => sql<SqlBool>`exists (
      select from releases r
      where r.id = k.source_release_id and jsonb_typeof(r.stack #> '{kubernetes,chart}') = 'object'
    )`,
    async build(row, tell, signal) {
      const { config } = row;
      if (config.type !== "helm") throw new Error(`package ${row.id} is no chart`);
      const release = await db
        .selectFrom("releases")
        .select(["version", sql<unknown>`stack #> '{kubernetes,chart}'`.as("chart")])
        .select(sql<string>`stack #>> '{kubernetes,id}'`.as("stack"))
        .where("id", "=", row.source_release_id)
        .executeTakeFirstOrThrow();
      const { stack } = release;
      await tell("building", { type: "BuildingStack", stack });
      const version = versionOf(row);
      const { chartName: name, description } = config;
      const packed = await packChart(release.chart, { name, description, version, appVersion: release.version });
      const chart = { packageId: row.id, file: `${name}-${version}.tgz` };
      await tell("publishing", { type: "PushingStack", platform: "kubernetes", stack });
      await store.put(packageKey(chart), packed, CHARTS.contentType, signal);
      return { type: "helm", chart: baseUrl() + packagePath(secret, CHARTS, chart), version };
    },
  };
}
