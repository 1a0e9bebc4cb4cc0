import { ApiError } from "../../../api-client/api-error.ts";
import { BUILTIN_PLUGINS } from "../../../contract/operations/builtin-plugins.ts";
import type { Plugin } from "../../../contract/operations/operations.ts";
import { paramsIssues } from "../../../plugins/params-fit.ts";
import type { ParamsSchema } from "../../../plugins/params-schema.ts";
import type { CallRoute } from "../calling.ts";
import { jsonOr } from "../values.ts";

type Words = Readonly<Record<string, string>>;
type Params = Readonly<Record<string, unknown>>;

/**
 * The values of `NAME=VALUE`, each as the operation's schema has it: `2048` is a text where a text is asked for. What fits nowhere, and
 * all without a schema, is JSON where it can be read as JSON, else text.
 */
export function fittedParams(schema: ParamsSchema | undefined, words: Words): Params {
  const properties = (typeof schema === "object" ? schema.properties : undefined) ?? {};
  return Object.fromEntries(
    Object.entries(words).map(([name, text]) => {
      return [name, fitted(Object.hasOwn(properties, name) ? properties[name] : undefined, text)];
    }),
  );
}

function fitted(schema: ParamsSchema | undefined, text: string): unknown {
  const json = jsonOr(text);
  if (schema === undefined) return json;
  const isText = typeof schema === "object" && schema.type === "string";
  const fits = (value: unknown): boolean => paramsIssues(schema, value).length === 0;
  return [json, text, listOf(schema, text)].find(fits) ?? (isText ? text : json);
}

/** `a,b`, as flags of the API's own lists are written. */
function listOf(schema: ParamsSchema, text: string): readonly unknown[] {
  const items = typeof schema === "object" ? schema.items : undefined;
  return text.split(",").map((word) => fitted(items, word));
}

/**
 * The schema of an operation's params. Undefined: it has none, or who asks may not read it; the platform judges the params in any case.
 *
 * @param projectId is asked for only where the plugin is the vendor's own
 */
export async function schemaOf(
  command: string,
  projectId: () => Promise<string | undefined>,
  call: CallRoute,
  signal: AbortSignal,
): Promise<ParamsSchema | undefined> {
  const [plugin = "", operation = ""] = command.split("/");
  const builtin = BUILTIN_PLUGINS.find(({ name }) => name === plugin);
  const found = builtin ?? (await ownPlugin(plugin, projectId, call, signal));
  return found?.operations.find(({ name }) => name === operation)?.paramsSchema as ParamsSchema | undefined;
}

async function ownPlugin(
  name: string,
  projectId: () => Promise<string | undefined>,
  call: CallRoute,
  signal: AbortSignal,
): Promise<Plugin | undefined> {
  try {
    const query = { project: await projectId() };
    const answer = await call("operations", "listPlugins", { params: {}, query, body: undefined }, signal);
    return (answer as { readonly plugins: readonly Plugin[] }).plugins.find((plugin) => plugin.name === name);
  } catch (error) {
    // Who may not read plugins, or has an older platform, sends what was typed.
    const isUnknown = error instanceof ApiError && (error.status === 403 || error.status === 404);
    if (signal.aborted || !isUnknown) throw error;
    return undefined;
  }
}

/** Fits the words of `--params` to the operation that a command line names. */
export async function fitParams(
  params: unknown,
  words: Words | undefined,
  schema: () => Promise<ParamsSchema | undefined>,
): Promise<unknown> {
  return words === undefined ? params : fittedParams(await schema(), words);
}
