import type { Params } from "../../../plugin-api/index.ts";
import type { PluginOperation } from "../../../plugins/metadata.ts";
import { paramsIssues } from "../../../plugins/params-fit.ts";
import { FriendlyError, UsageError } from "../../kernel/command.ts";
import { EXIT_CODES } from "../exit-codes.ts";
import { fittedParams } from "../params/fitted-params.ts";

/**
 * The params of one run, from `--params NAME=VALUE` and `--namespace`. A value is what the schema asks for, else JSON.
 *
 * @throws FriendlyError when they do not fit the schema, as the platform would refuse them
 */
export function trialParams(
  { name, paramsSchema }: PluginOperation,
  given: readonly string[],
  namespace: string | undefined,
): Params {
  const words: Record<string, string> = {};
  for (const text of given) {
    const [, key, value] = /^([^=]+)=(.*)$/su.exec(text) ?? [];
    if (key === undefined || value === undefined) throw new UsageError(`--params is NAME=VALUE, not ${text}`);
    words[key] = value;
  }
  const params = { ...(namespace !== undefined && { namespace }), ...fittedParams(paramsSchema, words) };
  const issues = paramsIssues(paramsSchema, params);
  if (issues.length === 0) return params;
  const lines = issues.map(({ path, message }) => `\n  ${path} ${message}`);
  throw new FriendlyError(`the params do not fit ${name}:${lines.join("")}`, { exitCode: EXIT_CODES.refused.code });
}
