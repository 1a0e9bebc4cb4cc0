import type { Params } from "../../../plugin-api/index.ts";
import type { PluginOperation } from "../../../plugins/metadata.ts";
import { paramsIssues } from "../../../plugins/params-fit.ts";
import { FriendlyError, UsageError } from "../../kernel/command.ts";
import { EXIT_CODES } from "../exit-codes.ts";

/**
 * The params of one run, from `--params NAME=VALUE` and `--namespace`. A value is a text where the schema says so, else JSON.
 *
 * @throws FriendlyError when they do not fit the schema, as the platform would refuse them
 */
export function trialParams(
  { name, paramsSchema }: PluginOperation,
  given: readonly string[],
  namespace: string | undefined,
): Params {
  const params: Record<string, unknown> = namespace === undefined ? {} : { namespace };
  for (const text of given) {
    const [, key, value] = /^([^=]+)=(.*)$/su.exec(text) ?? [];
    if (key === undefined || value === undefined) throw new UsageError(`--params is NAME=VALUE, not ${text}`);
    const property = Object.hasOwn(paramsSchema.properties ?? {}, key) ? paramsSchema.properties?.[key] : undefined;
    const isText = typeof property === "object" && property.type === "string";
    params[key] = isText ? value : jsonOr(value);
  }
  const issues = paramsIssues(paramsSchema, params);
  if (issues.length === 0) return params;
  const lines = issues.map(({ path, message }) => `\n  ${path} ${message}`);
  throw new FriendlyError(`the params do not fit ${name}:${lines.join("")}`, { exitCode: EXIT_CODES.refused.code });
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
