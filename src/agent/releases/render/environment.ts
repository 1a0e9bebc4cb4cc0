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
  /** Where each secret value came from that would have to be written out, by the variable's name. */
  readonly secrets: ReadonlyMap<string, string>;
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
  { inputs, config }: Configuration,
  bindings: readonly ExternalBinding[],
): Environment {
  const entries = new Map<string, EnvEntry>();
  const secrets = new Map<string, string>();
  const give = ({ name, value, isSecret, path }: Given): void => {
    entries.delete(name);
    secrets.delete(name);
    if (isSecret) secrets.set(name, path);
    else entries.set(name, { name, value: literal(value) });
  };
  for (const given of inputs.flatMap((input) => ofInput(input, config.inputValues, resourceId))) give(given);
  for (const { name, value, type, targetResources } of config.environmentVariables.variables) {
    if (!isTargeted(targetResources, resourceId)) continue;
    give({ name, value, isSecret: type === "secret", path: `config.environmentVariables.${name}` });
  }
  const envFrom: object[] = [];
  for (const binding of bindings) {
    if (binding.env === undefined) envFrom.push(wholeSource(binding));
    for (const [name, key] of Object.entries(binding.env ?? {}).sort(byKey)) {
      secrets.delete(name);
      entries.set(name, { name, valueFrom: sourceOf(binding, key) });
    }
  }
  const env = [...entries].sort(byKey).map(([, entry]) => entry);
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
