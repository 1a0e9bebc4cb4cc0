import type { Static } from "typebox";
import type { SetupConfig, SetupItem } from "../../../../contract/deployment-groups/setup-config.ts";
import type { InputValues } from "../../../../contract/deployments/deployment.ts";
import type { DeploymentModel, EnvironmentVariable } from "../../../../contract/deployments/deployment-state.ts";
import type { deploymentRoutes } from "../../../../contract/deployments/deployments.ts";
import type { Call } from "../../../kernel/call/call.ts";
import { withoutNulls } from "../../../kernel/without-nulls.ts";
import { openVariables } from "../settings/environment.ts";
import { openInputs } from "../settings/inputs.ts";
import { withinPolicy } from "../settings/policy.ts";

type Context = Pick<Call, "db" | "principal" | "config">;

/** What the vendor has set for deployments that are created with a group token. */
export interface GroupSetup {
  readonly metadata: SetupConfig["metadata"];
  readonly policy: Partial<SetupConfig["policy"]>;
  readonly items: readonly SetupItem[];
  readonly environmentVariables: readonly EnvironmentVariable[];
  readonly inputValues: InputValues;
  readonly publicSubdomain: string | undefined;
  /** Channel by setup item. */
  readonly channels: ReadonlyMap<string, string>;
  /** The release that was current when the token was minted, by setup item. */
  readonly captured: ReadonlyMap<string, string>;
}

/** Reads everything that was captured when the token was minted. */
export async function setupOfToken({ db, principal, config }: Context): Promise<GroupSetup> {
  const key = await db
    .selectFrom("api_keys as k")
    .leftJoin("group_token_setups as s", "s.api_key_id", "k.id")
    .select(["k.deployment_setup_config as open", "s.environment_variables as sealed", "s.input_values as inputs"])
    .where("k.id", "=", principal.id)
    .executeTakeFirst();
  const open = key?.open as Partial<SetupConfig> | null | undefined;
  const sources = (open?.items ?? []).flatMap(({ item, source }) =>
    source.type === "project-release" ? [[item, source.releaseChannel] as const] : [],
  );
  return {
    metadata: open?.metadata ?? {},
    items: open?.items ?? [],
    // A group key without a policy has the rights of the role that minted it.
    policy: open?.policy ?? { allowReleasePinning: true },
    environmentVariables: key?.sealed == null ? [] : openVariables(key.sealed, config.sealingKey).variables,
    inputValues: openInputs(key?.inputs ?? {}, config.sealingKey) as InputValues,
    publicSubdomain: open?.publicSubdomain,
    channels: new Map(sources),
    captured: new Map(
      (open?.items ?? []).map(({ item, source }) => [
        item,
        source.type === "built-in" ? source.sourceReleaseId : source.releaseId,
      ]),
    ),
  };
}

/** Fills in the token's values where the body has none. */
export function withSetup(setup: GroupSetup, body: CreateBody, usualModel: DeploymentModel): CreateBody {
  const { environmentVariables: own = [], stackSettings } = body;
  const names = new Set(own.map(({ name }) => name));
  const variables = [...setup.environmentVariables.filter(({ name }) => !names.has(name)), ...own];
  const channel = body.releaseChannel ?? setup.channels.get(body.setupItem ?? "deployment");
  const subdomain = body.publicSubdomain ?? setup.publicSubdomain;
  return {
    ...body,
    ...(variables.length > 0 && { environmentVariables: variables }),
    stackSettings: withinPolicy(setup.policy, usualModel, {
      ...setup.policy.stackSettings?.defaults,
      ...withoutNulls(stackSettings ?? {}),
    }),
    ...(channel !== undefined && { releaseChannel: channel }),
    ...(subdomain !== undefined && { publicSubdomain: subdomain }),
  };
}

export type CreateBody = Static<(typeof deploymentRoutes)["create"]["body"]>;
