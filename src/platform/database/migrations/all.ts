import type { Migration } from "kysely/migration";
import { tenancy } from "./0001-0010/0001-tenancy.ts";
import { deployments } from "./0001-0010/0002-deployments.ts";
import { reportsAndCommands } from "./0001-0010/0003-reports-and-commands.ts";
import { operations } from "./0001-0010/0004-operations.ts";
import { releases } from "./0001-0010/0005-releases.ts";
import { machines } from "./0001-0010/0006-machines.ts";
import { packages } from "./0001-0010/0007-packages.ts";
import { debugSessions } from "./0001-0010/0008-debug-sessions.ts";
import { groupTokens } from "./0001-0010/0009-group-tokens.ts";
import { identity } from "./0001-0010/0010-identity.ts";
import { people } from "./0011-0020/0011-people.ts";
import { speed } from "./0011-0020/0013-speed.ts";
import { bundles } from "./0011-0020/0014-bundles.ts";
import { longLists } from "./0011-0020/0015-long-lists.ts";
import { tallies } from "./0011-0020/0016-tallies.ts";
import { ownDeployments } from "./0011-0020/0017-own-deployments.ts";
import { managersServe } from "./0011-0020/0018-managers-serve.ts";
import { budgets } from "./0011-0020/0019-budgets.ts";
import { sessionFiles } from "./0011-0020/0020-session-files.ts";
import { keyMinters } from "./0021-0030/0021-key-minters.ts";
import { resourceLevels } from "./0021-0030/0022-resource-levels.ts";
import { acceptedStale } from "./0021-0030/0023-accepted-stale.ts";
import { resourcesVersion } from "./0021-0030/0024-resources-version.ts";
import { debugKeys } from "./0021-0030/0025-debug-keys.ts";
import { fullReports } from "./0021-0030/0026-full-reports.ts";
import { toldBytes } from "./0021-0030/0027-told-bytes.ts";
import { staleSince } from "./0021-0030/0028-stale-since.ts";
import { relayHomes } from "./0021-0030/0029-relay-homes.ts";
import { keptHeartbeats } from "./0021-0030/0030-kept-heartbeats.ts";
import { joinServers } from "./0031-0040/0031-join-servers.ts";
import { customerCancels } from "./0031-0040/0032-customer-cancels.ts";
import { receipts } from "./0031-0040/0033-receipts.ts";
import { buildsOfLate } from "./0031-0040/0034-builds-of-late.ts";
import { describedEvents } from "./0031-0040/0035-described-events.ts";
import { packageBuilders } from "./0031-0040/0036-package-builders.ts";

/** In order of name. A migration that has been released never changes; the next one repairs it. */
export const migrations: Readonly<Record<string, Migration>> = {
  "0001-tenancy": tenancy,
  "0002-deployments": deployments,
  "0003-reports-and-commands": reportsAndCommands,
  "0004-operations": operations,
  "0005-releases": releases,
  "0006-machines": machines,
  "0007-packages": packages,
  "0008-debug-sessions": debugSessions,
  "0009-group-tokens": groupTokens,
  "0010-identity": identity,
  "0011-people": people,
  "0013-speed": speed,
  "0014-bundles": bundles,
  "0015-long-lists": longLists,
  "0016-tallies": tallies,
  "0017-own-deployments": ownDeployments,
  "0018-managers-serve": managersServe,
  "0019-budgets": budgets,
  "0020-session-files": sessionFiles,
  "0021-key-minters": keyMinters,
  "0022-resource-levels": resourceLevels,
  "0023-accepted-stale": acceptedStale,
  "0024-resources-version": resourcesVersion,
  "0025-debug-keys": debugKeys,
  "0026-full-reports": fullReports,
  "0027-told-bytes": toldBytes,
  "0028-stale-since": staleSince,
  "0029-relay-homes": relayHomes,
  "0030-kept-heartbeats": keptHeartbeats,
  "0031-join-servers": joinServers,
  "0032-customer-cancels": customerCancels,
  "0033-receipts": receipts,
  "0034-builds-of-late": buildsOfLate,
  "0035-described-events": describedEvents,
  "0036-package-builders": packageBuilders,
};
