import type { TableClient } from "../../api-client/table-client.ts";
import { machineRuntimeRoutes } from "../../contract/machines/machines.ts";

/** Every route that the join server can call: its client is made from this table and has no other function. */
export const JOIN_ROUTES = {
  machines: { join: machineRuntimeRoutes.join, joinServer: machineRuntimeRoutes.joinServer },
} as const;

/** The platform as the join server sees it. */
export type Platform = TableClient<typeof JOIN_ROUTES>;
