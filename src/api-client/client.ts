import { ROUTES } from "../contract/table.ts";
import type { ClientOptions } from "./options.ts";
import { clientOf, type TableClient } from "./table-client.ts";

// biome-ignore lint/performance/noBarrelFile: the package's public entry point is one file
export { ApiError } from "./api-error.ts";
export type { Attempt, ClientOptions, Credential } from "./options.ts";
export { pages } from "./pages.ts";
export type { Transport, WireAnswer, WireRequest } from "./transport.ts";

/** The Management API: every route of the contract as a typed call, `client.projects.list({ query }, signal)`. */
export type Client = TableClient<typeof ROUTES>;

export function createClient(options: ClientOptions): Client {
  return clientOf(ROUTES, options);
}
