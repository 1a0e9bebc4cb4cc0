import type { Kysely } from "kysely";
import type { AccessRequestTables } from "./tables/access-requests.ts";
import type { ApiKeyTables } from "./tables/api-keys.ts";
import type { CommandTables } from "./tables/commands.ts";
import type { DebugSessionTables } from "./tables/debug-sessions.ts";
import type { DeploymentGroupTables } from "./tables/deployment-groups.ts";
import type { DeploymentTables } from "./tables/deployments.ts";
import type { EventTables } from "./tables/events.ts";
import type { GitNamespaceTables } from "./tables/git-namespaces.ts";
import type { IdentityTables } from "./tables/identity.ts";
import type { InvitationTables } from "./tables/invitations.ts";
import type { KernelTables } from "./tables/kernel.ts";
import type { MachineTables } from "./tables/machines.ts";
import type { ManagerTables } from "./tables/managers.ts";
import type { OperationTables } from "./tables/operations.ts";
import type { PackageTables } from "./tables/packages.ts";
import type { ProjectTables } from "./tables/projects.ts";
import type { ReleaseTables } from "./tables/releases.ts";
import type { SyncTables } from "./tables/sync.ts";
import type { WorkspaceTables } from "./tables/workspaces.ts";

/** All tables of the platform. tables/<area>.ts declares the rows of an area, with the SQL names of the columns. */
export interface Database
  extends KernelTables,
    ApiKeyTables,
    MachineTables,
    ManagerTables,
    EventTables,
    ProjectTables,
    DebugSessionTables,
    DeploymentGroupTables,
    DeploymentTables,
    ReleaseTables,
    PackageTables,
    SyncTables,
    CommandTables,
    OperationTables,
    AccessRequestTables,
    IdentityTables,
    WorkspaceTables,
    InvitationTables,
    GitNamespaceTables {}

/** The pool or a transaction; store functions work with both. */
export type Db = Kysely<Database>;
