import type { ExternalBinding, RenderedConfig } from "../../../contract/deployments/rendered-config.ts";
import type { KubernetesStack } from "../../../contract/deployments/stack.ts";
import { isRenderedType, type KubernetesConfig } from "../../../contract/stacks/kubernetes-config.ts";
import type { ManifestsConfig } from "../../../contract/stacks/manifests-config.ts";
import type { Manifest } from "../../../crds/manifest.ts";
import { type ConfigurationSecret, configurationSecret, secretKeys } from "./configuration-secret.ts";
import { type Environment, environmentOf, secretsOf, withSecret } from "./environment.ts";
import { givenObjects } from "./given-objects.ts";
import { byKey, inOrder } from "./plain-json.ts";
import type { WorkloadConfig } from "./pod-template.ts";
import type { ReleaseIdentity } from "./release-labels.ts";
import type { RenderProblem } from "./render-problem.ts";
import { needsOf } from "./resource-bindings.ts";
import { secretsRefused } from "./secret-values.ts";
import { withTelemetry } from "./telemetry.ts";
import type { Part } from "./waves.ts";
import { workloadObjects } from "./workload-objects.ts";

export interface PartsRequest {
  readonly identity: ReleaseIdentity;
  /** The first is that of all that names none. */
  readonly namespaces: readonly string[];
  readonly stack: KubernetesStack;
  readonly config: RenderedConfig;
  readonly bindings: ReadonlyMap<string, ExternalBinding>;
  /** A variable is written out once for each resource: a few of them can make a thousand times their size. */
  readonly maxBytes: number;
  /** Makes the name of the Secret unguessable. Undefined: releases bring no secret values here. */
  readonly secretSalt: Uint8Array | undefined;
}

export interface Parts {
  readonly parts: readonly Part[];
  readonly problems: readonly RenderProblem[];
  /** Of each workload: the hash of what the configuration gives it. */
  readonly configured: Readonly<Record<string, string>>;
  /** Undefined: no value is secret. */
  readonly secret: ConfigurationSecret | undefined;
}

/** The objects of all resources, by the resources' ids. */
export function partsOf(request: PartsRequest): Parts {
  const { identity, namespaces, stack, maxBytes } = request;
  const parts: Part[] = [];
  const problems: RenderProblem[] = [];
  const configured: [string, string][] = [];
  const configuration = configurationOf(request);
  problems.push(...configuration.problems);
  let bytes = 0;
  for (const [resourceId, { config, lifecycle }] of Object.entries(stack.resources).sort(byKey)) {
    const manifests: Manifest[] = [];
    if (isWorkload(config)) {
      const environment = configuration.environmentOf(config.id);
      configured.push([resourceId, environment.hash]);
      manifests.push(...workloadObjects(identity, namespaces[0] ?? "", config, environment));
    } else if (isManifests(config)) {
      const given = givenObjects(identity, namespaces, config);
      problems.push(...given.problems);
      manifests.push(...given.manifests);
    }
    for (const manifest of manifests.map(inOrder)) {
      bytes += Buffer.byteLength(JSON.stringify(manifest));
      parts.push({ resourceId, frozen: lifecycle === "frozen", manifest });
    }
    if (bytes > maxBytes) break;
  }
  return { parts, problems, configured: Object.fromEntries(configured), secret: configuration.secret };
}

interface Configuration {
  readonly environmentOf: (resourceId: string) => Environment;
  readonly secret: ConfigurationSecret | undefined;
  readonly problems: readonly RenderProblem[];
}

/** Secret values first, of all workloads together: they lie in one Secret, whose name stands in each of them. */
function configurationOf(request: PartsRequest): Configuration {
  const { identity, stack, secretSalt } = request;
  const given = { inputs: stack.inputs ?? [], config: withTelemetry(request.config, secretSalt !== undefined) };
  const ids = Object.values(stack.resources).flatMap((each) => (isWorkload(each.config) ? [each.config.id] : []));
  const found = new Map(ids.sort().map((id) => [id, secretsOf(id, given, bindingsFor(id, request))]));
  const environment = (id: string): Environment => environmentOf(id, given, bindingsFor(id, request));
  const unchanged = { environmentOf: environment, secret: undefined };
  if (secretSalt === undefined) return { ...unchanged, problems: secretsRefused(found) };
  const { secret, problems } = configurationSecret(identity.deploymentId, found, secretSalt);
  if (secret === undefined) return { ...unchanged, problems };
  const keyOf = secretKeys(found);
  return {
    secret,
    problems,
    environmentOf: (id) => withSecret(environment(id), secret.name, (variable) => keyOf(id, variable)),
  };
}

/** What the customer's cluster has in place of things that the resource depends on. */
function bindingsFor(id: string, { stack, bindings }: PartsRequest): readonly ExternalBinding[] {
  const { resources } = stack;
  const resource = resources[id];
  const needs = resource === undefined ? [] : [...new Set(needsOf(resource))].sort();
  const bound = needs.filter((need) => !isRenderedType(resources[need]?.config.type ?? ""));
  return [...bound, id].flatMap((each) => bindings.get(each) ?? []);
}

function isManifests(config: KubernetesConfig): config is ManifestsConfig {
  return config.type === "manifests";
}

function isWorkload(config: KubernetesConfig): config is WorkloadConfig {
  return isRenderedType(config.type) && !isManifests(config);
}
