import type { PolicyRule } from "./operations/operation.ts";
import type { Tier } from "./plan.ts";

/** An operation of a plugin, as the customer's install values enable it. Its code is the image's. */
export interface PluginRole {
  readonly plugin: string;
  readonly name: string;
  readonly tier: Tier;
  readonly rules: readonly PolicyRule[];
}
