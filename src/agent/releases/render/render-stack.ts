import { dataProblems } from "../../../base/data-problems.ts";
import { isRecord } from "../../../base/is-record.ts";
import { configFaults, type RenderedConfig } from "../../../contract/deployments/rendered-config.ts";
import type { KubernetesStack } from "../../../contract/deployments/stack.ts";
import { stackFaults } from "../../../contract/deployments/stack-faults.ts";
import { isRenderedType } from "../../../contract/stacks/kubernetes-config.ts";
import { groupKindOf } from "../../../contract/stacks/manifest-problems.ts";
import { MAX_RELEASE_OBJECTS, MAX_WAVES, type ReleaseObject } from "../../../crds/kinds/release-content.ts";
import type { ConfigurationSecret } from "./configuration-secret.ts";
import { hashOf } from "./plain-json.ts";
import { isLabelValue, type ReleaseIdentity } from "./release-labels.ts";
import { MAX_RENDER_PROBLEMS, type RenderProblem, type RenderProblemCode } from "./render-problem.ts";
import { bindingsOf, needsOf } from "./resource-bindings.ts";
import { partsOf } from "./resource-parts.ts";
import { inWaves, type Step } from "./waves.ts";

/** Of all objects as JSON: the cluster keeps them in one object, of which etcd takes 1.5 MiB. */
const MAX_CONTENT_BYTES = 900 * 1024;
/** Of a path in a status. */
const MAX_PATH = 256;

export interface RenderRequest extends ReleaseIdentity {
  /** As the platform sent it: nothing here relies on the platform's having judged it. */
  readonly stack: unknown;
  /** The deployment's configuration, likewise. */
  readonly config: unknown;
  /** Those that the customer accepts the deployment for. The first is the deployment's own. */
  readonly namespaces: readonly string[];
  /** Where releases bring secret values: makes the name of their Secret unguessable. */
  readonly secretSalt?: Uint8Array;
}

export type Rendered =
  /** Without objects: the stack has only what the cluster has already. */
  | {
      readonly ok: true;
      readonly objects: readonly ReleaseObject[];
      readonly configHash: string;
      /** What the objects name and do not hold. Undefined: no value is secret. */
      readonly secret?: ConfigurationSecret;
    }
  | { readonly ok: false; readonly problems: readonly RenderProblem[] };

export type Render = (request: RenderRequest) => Rendered;

/**
 * The objects that a stack is in a customer's cluster, in the order of their waves. The same stack and configuration give
 * the same bytes, in any order of their keys: what a person has approved is known again by its digest.
 *
 * The time grows with the size of what is given and is bounded by that of what may come out.
 */
export function renderStack(request: RenderRequest): Rendered {
  const unfit = inputProblems(request);
  if (unfit.length > 0) return refused(unfit);
  const { namespaces, secretSalt, ...identity } = request;
  const stack = request.stack as KubernetesStack;
  const config = request.config as RenderedConfig;
  const { byId, problems } = bindingsOf(stack.resources, config.externalBindings);
  const made = partsOf({
    identity,
    namespaces,
    stack,
    config,
    bindings: byId,
    maxBytes: MAX_CONTENT_BYTES,
    secretSalt,
  });
  if (problems.length + made.problems.length > 0) return refused([...problems, ...made.problems]);
  const objects = inWaves(made.parts, stepsOf(stack));
  const unfitting = [...contentProblems(objects)];
  if (unfitting.length > 0) return refused(unfitting);
  return { ok: true, objects, configHash: hashOf(made.configured), ...(made.secret && { secret: made.secret }) };
}

function stepsOf({ resources }: KubernetesStack): ReadonlyMap<string, Step> {
  return new Map(
    Object.entries(resources).map(([id, resource]) => [
      id,
      { needs: needsOf(resource), isMade: isRenderedType(resource.config.type) },
    ]),
  );
}

function refused(problems: readonly RenderProblem[]): Rendered {
  return { ok: false, problems: problems.slice(0, MAX_RENDER_PROBLEMS) };
}

/** In an order in which each judge gets what the one before has let through. */
function inputProblems({
  stack,
  config,
  namespaces,
  secretSalt: _,
  ...identity
}: RenderRequest): readonly RenderProblem[] {
  const read = isRecord(config) ? config : {};
  const { environmentVariables, inputValues, externalBindings } = read as Partial<RenderedConfig>;
  // The rest of a configuration is not read.
  const rendered = { environmentVariables, inputValues, externalBindings };
  const unshown = [
    ...told(unshownIn("stack", stack), "STACK_INVALID"),
    ...told(unshownIn("config", rendered), "CONFIGURATION_INVALID"),
  ];
  if (unshown.length > 0) return unshown;
  return [
    ...told(stackFaults(stack).map(under("stack")), "STACK_INVALID"),
    ...told(configFaults(rendered).map(under("config")), "CONFIGURATION_INVALID"),
    ...(["deploymentId", "releaseId"] as const)
      .filter((field) => !isLabelValue(identity[field]))
      .map((path) => ({ path, message: "cannot be a label", code: "CONFIGURATION_INVALID" as const })),
    ...(namespaces.length > 0
      ? []
      : [
          {
            path: "namespaces",
            message: "the deployment is accepted in none",
            code: "NAMESPACE_NOT_ACCEPTED" as const,
          },
        ]),
  ];
}

type Found = Omit<RenderProblem, "code"> | undefined;

function told(found: readonly Found[], code: RenderProblemCode): readonly RenderProblem[] {
  return found.flatMap((each) => (each === undefined ? [] : [{ ...each, code }]));
}

function under(root: string) {
  return ({ path, message }: NonNullable<Found>) => ({ path: path === "" ? root : `${root}.${path}`, message });
}

/** What a person would not see as it is, or the API server would not keep. */
function unshownIn(root: string, value: unknown): readonly NonNullable<Found>[] {
  return dataProblems(value).map(({ path, message }) => ({
    path: [root, ...path].join(".").slice(0, MAX_PATH),
    message,
  }));
}

function tooLarge(message: string): RenderProblem {
  return { path: "stack.resources", message, code: "TOO_LARGE" };
}

/** What shows only when everything is there. */
function* contentProblems(objects: readonly ReleaseObject[]): Generator<RenderProblem> {
  if (objects.length > MAX_RELEASE_OBJECTS) {
    yield tooLarge(`make ${objects.length} objects, and ${MAX_RELEASE_OBJECTS} are the most`);
  }
  const bytes = Buffer.byteLength(JSON.stringify(objects));
  if (bytes > MAX_CONTENT_BYTES) yield tooLarge(`make more than ${MAX_CONTENT_BYTES} bytes, which are the most`);
  const waves = (objects.at(-1)?.wave ?? -1) + 1;
  if (waves > MAX_WAVES) yield tooLarge(`make ${waves} waves, and ${MAX_WAVES} are the most`);
  const seen = new Set<string>();
  for (const { resourceId, manifest } of objects) {
    const { namespace = "", name } = manifest.metadata;
    const key = `${groupKindOf(manifest)} ${namespace}/${name}`;
    if (seen.has(key)) {
      const message = `makes ${manifest.kind} ${name} in ${namespace}, and another does too`;
      yield { path: `stack.resources.${resourceId}`, message, code: "STACK_INVALID" };
    }
    seen.add(key);
  }
}
