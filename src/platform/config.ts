import type { DatabaseLocation } from "./database.ts";

/** What handlers may know of the process's configuration. */
export interface PlatformConfig {
  readonly database: DatabaseLocation;
  readonly host: string;
  readonly port: number;
  /** Without a trailing slash. Links in answers and token issuers start with it. */
  readonly baseUrl: string;
  /** 32 bytes: seals the values that must be read again (§0.1). Another key makes them unreadable. */
  readonly dataKey: Uint8Array;
  readonly rateLimits: boolean;
  /** `/metrics` is served on its own port, so that the API's port can be public. */
  readonly metricsPort: number | undefined;
}
