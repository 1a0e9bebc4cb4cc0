import {
  MODEL_PROVIDERS,
  type SetupItem,
  type WantedSetupItem,
} from "../../../contract/deployment-groups/setup-config.ts";
import type { CAPABILITIES } from "../../../contract/projects/projects.ts";
import { PRODUCTION } from "../../../contract/releases/release-channels.ts";
import type { Db } from "../../database/db.ts";
import type { ReleaseRow } from "../../database/tables/releases.ts";
import type { Issue } from "../../kernel/errors.ts";
import { modelsOf } from "../releases/record/models.ts";
import { findChannel } from "../releases/record/store.ts";

type Item = WantedSetupItem["item"];

/** The capability that the project must have enabled for an item. */
const CAPABILITY_OF: Readonly<Record<Item, (typeof CAPABILITIES)[number]>> = {
  deployment: "deployments",
  models: "models",
  keys: "keys",
  bucket: "buckets",
  registry: "registry",
  sandbox: "sandbox",
};

/** Items that the platform itself can set up. The others come from the project's release. */
const BUILT_IN = {
  models: "customer-ai",
  keys: "customer-key",
  bucket: "customer-storage",
  registry: "customer-registry",
} as const;
const BUILT_IN_VERSION = "1";

export interface ResolvedItems {
  readonly items: readonly SetupItem[];
  readonly issues: readonly Issue[];
  /** The release captured for the group's own deployments; the inputs come from it. */
  readonly release: ReleaseRow | undefined;
}

/** Captures the current release of each item (§4.2). */
export async function resolveItems(
  db: Db,
  project: { readonly id: string; readonly capabilities: readonly string[] },
  wanted: readonly WantedSetupItem[],
): Promise<ResolvedItems> {
  const items: SetupItem[] = [];
  const issues: Issue[] = [];
  let release = (await findChannel(db, project.id, PRODUCTION))?.release;
  for (const [index, each] of wanted.entries()) {
    const path = `body.setupItems.${index}`;
    const channel = each.releaseChannel ?? PRODUCTION;
    const captured = (await findChannel(db, project.id, channel))?.release;
    if (wanted.findIndex(({ item }) => item === each.item) !== index) {
      issues.push({ path: `${path}.item`, message: "is given twice" });
    }
    if (!project.capabilities.includes(CAPABILITY_OF[each.item])) {
      issues.push({ path: `${path}.item`, message: "is not enabled for the project" });
    }
    if (each.providerAllowlist !== undefined && each.item !== "models") {
      issues.push({ path: `${path}.providerAllowlist`, message: "belongs to models only" });
    }
    if (captured === undefined) {
      issues.push({ path: `${path}.releaseChannel`, message: `${channel} has no release` });
      continue;
    }
    if (each.item === "deployment") release = captured;
    items.push(toItem(each, channel, captured));
  }
  return { items, issues, release };
}

function toItem(
  { item, required, providerAllowlist }: WantedSetupItem,
  channel: string,
  release: ReleaseRow,
): SetupItem {
  const allowed = item === "models" ? [...(providerAllowlist ?? MODEL_PROVIDERS)] : [];
  return {
    item,
    required,
    source:
      item === "deployment" || item === "sandbox"
        ? { type: "project-release", releaseChannel: channel, releaseId: release.id }
        : {
            type: "built-in",
            definitionId: BUILT_IN[item],
            version: BUILT_IN_VERSION,
            sourceReleaseId: release.id,
          },
    configuration: {
      allowedProviders: allowed,
      providerAllowlist: [...(providerAllowlist ?? [])],
      modelRequirements: item === "models" ? modelsOf(release) : [],
    },
  };
}
