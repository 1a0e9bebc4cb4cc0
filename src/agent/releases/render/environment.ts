import type { ExternalBinding, RenderedConfig } from "../../../contract/deployments/rendered-config.ts";
import type { StackInput } from "../../../contract/deployments/stack.ts";
import { byKey, hashOf, inOrder } from "./plain-json.ts";

type Source = { readonly name: string; readonly key: string };
export type EnvEntry =
  | { readonly name: string; readonly value: string }
  | {
      readonly name: string;
      readonly valueFrom: { readonly secretKeyRef: Source } | { readonly configMapKeyRef: Source };
    };

/** What a deployment's configuration gives to the containers of one resource. */
export interface Environment {
  /** By name. */
  readonly env: readonly EnvEntry[];
  readonly envFrom: readonly object[];
  /** Of all that stands here, so that a pod restarts when it is another. Holds no secret value. */
  readonly hash: string;
  /** Secret values, by the variable's name: none of them stands in `env`. */
  readonly secrets: ReadonlyMap<string, SecretGiven>;
}

/** A secret value, and where it came from. */
export interface SecretGiven {
  readonly value: string;
  readonly path: string;
}

export interface Configuration {
  readonly inputs: readonly StackInput[];
  readonly config: RenderedConfig;
}

/**
 * Inputs, then variables, then bindings: of two with one name the later counts, so that the customer, who names the
 * Secrets, has the last word.
 *
 * @param bindings of what the resource depends on, and its own last
 */
export function environmentOf(
  resourceId: string,
  configuration: Configuration,
  bindings: readonly ExternalBinding[],
): Environment {
  const { plain, secrets } = collected(resourceId, configuration, bindings);
  const entries: EnvEntry[] = [...plain].map(([name, value]) => ({ name, value: literal(value) }));
  const envFrom: object[] = [];
  for (const binding of bindings) if (binding.env === undefined) envFrom.push(wholeSource(binding));
  const sources = new Map(
    bindings.flatMap((binding) =>
      Object.entries(binding.env ?? {}).map(([name, key]) => [name, sourceOf(binding, key)] as const),
    ),
  );
  entries.push(...[...sources].map(([name, valueFrom]) => ({ name, valueFrom })));
  return environment(entries, envFrom, secrets);
}

/** As {@link Environment.secrets}, without the rest, which may be a thousand times as large over all resources. */
export function secretsOf(
  resourceId: string,
  configuration: Configuration,
  bindings: readonly ExternalBinding[],
): Environment["secrets"] {
  const { inputs, config } = configuration;
  const isAnySecret = config.environmentVariables.variables.some(({ type }) => type === "secret");
  if (!isAnySecret && !inputs.some(isSecretInput)) return new Map();
  return collected(resourceId, configuration, bindings).secrets;
}

/** Values by their variables, as they were entered; without those that a binding names. */
function collected(
  resourceId: string,
  { inputs, config }: Configuration,
  bindings: readonly ExternalBinding[],
): { readonly plain: ReadonlyMap<string, string>; readonly secrets: ReadonlyMap<string, SecretGiven> } {
  const plain = new Map<string, string>();
  const secrets = new Map<string, SecretGiven>();
  const give = ({ name, value, isSecret, path }: Given): void => {
    plain.delete(name);
    secrets.delete(name);
    if (isSecret) secrets.set(name, { value, path });
    else plain.set(name, value);
  };
  for (const given of inputs.flatMap((input) => ofInput(input, config.inputValues, resourceId))) give(given);
  for (const { name, value, type, targetResources } of config.environmentVariables.variables) {
    if (!isTargeted(targetResources, resourceId)) continue;
    give({ name, value, isSecret: type === "secret", path: `config.environmentVariables.${name}` });
  }
  for (const name of bindings.flatMap(({ env }) => Object.keys(env ?? {}))) {
    plain.delete(name);
    secrets.delete(name);
  }
  return { plain, secrets };
}

function isSecretInput({ kind, env = [] }: StackInput): boolean {
  return kind === "secret" || env.some((target) => (target as { readonly type?: unknown }).type === "secret");
}

/** The same with each secret value taken from a key of the Secret. Its name is another for other values. */
export function withSecret(given: Environment, secret: string, keyOf: (variable: string) => string): Environment {
  const { secrets } = given;
  const taken = [...secrets.keys()].map((name) => ({
    name,
    valueFrom: { secretKeyRef: { name: secret, key: keyOf(name) } },
  }));
  return environment([...given.env, ...taken], given.envFrom, secrets);
}

function environment(
  entries: readonly EnvEntry[],
  envFrom: readonly object[],
  secrets: Environment["secrets"],
): Environment {
  const env = entries.toSorted((one, other) => byKey([one.name, one], [other.name, other]));
  return { env, envFrom, secrets, hash: hashOf({ env, envFrom }) };
}

interface Given {
  readonly name: string;
  readonly value: string;
  readonly isSecret: boolean;
  readonly path: string;
}

/** Each variable that this answer, or else the default, goes into. */
function ofInput(input: StackInput, values: RenderedConfig["inputValues"], resourceId: string): readonly Given[] {
  if (input.platforms?.some((each) => each === "kubernetes") === false) return [];
  const given = Object.hasOwn(values, input.id) ? values[input.id] : undefined;
  const value = asText(given ?? input.default?.value);
  if (value === undefined) return [];
  const path = `config.inputValues.${input.id}`;
  return (input.env ?? []).flatMap((target) => {
    const { targetResources, type } = target as { readonly targetResources?: unknown; readonly type?: unknown };
    if (!isTargeted(targetResources, resourceId)) return [];
    return [{ name: target.name, value, path, isSecret: input.kind === "secret" || type === "secret" }];
  });
}

/** Lists as JSON: an element may have a comma of its own. */
function asText(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === "string" ? value : JSON.stringify(inOrder(value));
}

/** Without a list all are meant; `web*` means all that begin so. */
function isTargeted(targets: unknown, resourceId: string): boolean {
  if (targets === undefined || targets === null) return true;
  return (
    Array.isArray(targets) &&
    targets.some((target) => {
      if (typeof target !== "string") return false;
      return target.endsWith("*") ? resourceId.startsWith(target.slice(0, -1)) : target === resourceId;
    })
  );
}

/** A kubelet reads `$(NAME)` as another variable and `$$` as `$`: what a person entered must arrive as it is. */
function literal(value: string): string {
  return value.replaceAll(/\$(?=[$(])/g, "$$$$");
}

function wholeSource(binding: ExternalBinding): object {
  return "secret" in binding ? { secretRef: { name: binding.secret } } : { configMapRef: { name: binding.configMap } };
}

function sourceOf(binding: ExternalBinding, key: string) {
  return "secret" in binding
    ? { secretKeyRef: { name: binding.secret, key } }
    : { configMapKeyRef: { name: binding.configMap, key } };
}
