import fc from "fast-check";
import { expect, test } from "vitest";
import type { ReleaseObject } from "../../../crds/kinds/release-content.ts";
import { applySetId } from "../../../crds/release-names.ts";
import { USES_NOTHING } from "../../../crds/released/may-use.ts";
import { RELEASE_KINDS, type ReleaseRules, releaseProblems } from "../../../operator/rollouts/release-rules.ts";
import { type RenderRequest, renderStack } from "./render-stack.ts";
import { requestOf } from "./testing/golden-cases.ts";
import { someStack } from "./testing/some-stack.ts";

const RULES: ReleaseRules = {
  kinds: RELEASE_KINDS,
  namespaces: ["shop"],
  registries: [],
  mayExpose: false,
  // What `externalBindings` name is the customer's.
  mayRead: { secrets: ["*"], configMaps: ["*"], volumeClaims: [] },
  mayUse: USES_NOTHING,
  maxPods: 1_000_000,
  podSecurity: "restricted",
};

function objectsOf(request: RenderRequest): readonly ReleaseObject[] {
  const rendered = renderStack(request);
  if (!rendered.ok) throw new Error(JSON.stringify(rendered.problems));
  return rendered.objects;
}

/** The same value with the keys of its maps the other way round. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, each]) => [key, reversed(each)]),
  );
}

test("the same bytes come out in any order of the keys", () => {
  fc.assert(
    fc.property(someStack, (stack) => {
      const request = requestOf(stack);
      const other = { ...request, stack: reversed(request.stack), config: reversed(request.config) };
      expect(JSON.stringify(renderStack(other))).toBe(JSON.stringify(renderStack(request)));
    }),
  );
});

test("no object breaks a rule of releases, and each says whose it is", () => {
  fc.assert(
    fc.property(someStack, (stack) => {
      const objects = objectsOf(requestOf(stack));
      expect(releaseProblems(objects, RULES)).toEqual([]);
      for (const { resourceId, frozen, manifest } of objects) {
        expect(manifest.metadata.labels).toMatchObject({
          "app.kubernetes.io/managed-by": "sallyport",
          "sallyport.dev/deployment-id": "dep_0123456789abcdefghijklmnopqr",
          "sallyport.dev/resource-id": resourceId,
          "sallyport.dev/release-id": "rel_0123456789ABCDEFGHIJKLMNOPQR",
          "applyset.kubernetes.io/part-of": applySetId("dep-0123456789abcdefghijklmnopqr", "sallyport-grants"),
        });
        expect(manifest.metadata.namespace).toBe("shop");
        expect(frozen).toBe((stack.resources[resourceId] as { readonly lifecycle: string }).lifecycle === "frozen");
      }
    }),
  );
});

const hookOf = ({ manifest }: ReleaseObject) => manifest.metadata.annotations?.["sallyport.dev/hook"];
const PODS = ["Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob"];

test("waves follow the dependencies, hooks stand around their resource, and what pods read comes before them", () => {
  fc.assert(
    fc.property(someStack, (stack) => {
      const objects = objectsOf(requestOf(stack));
      const waves = objects.map(({ wave }) => wave);
      expect(waves).toEqual(waves.toSorted((one, other) => one - other));
      expect(new Set(waves)).toEqual(new Set(Array.from({ length: Math.max(-1, ...waves) + 1 }, (_, wave) => wave)));
      const of = (id: string) => objects.filter(({ resourceId }) => resourceId === id);
      const resources = stack.resources as Record<string, { readonly dependencies: readonly string[] }>;
      // Through what nothing is made of, too.
      const needed = (id: string): readonly string[] =>
        (resources[id]?.dependencies ?? []).flatMap((need) => [need, ...needed(need)]);
      for (const id of Object.keys(resources)) {
        const own = of(id);
        const first = Math.min(...own.map(({ wave }) => wave));
        for (const { wave } of needed(id).flatMap(of)) expect(wave).toBeLessThan(first);
        for (const one of own) {
          const others = own.filter((each) => hookOf(each) !== hookOf(one));
          if (hookOf(one) === "pre") for (const { wave } of others) expect(wave).toBeGreaterThan(one.wave);
          if (hookOf(one) === "post") for (const { wave } of others) expect(wave).toBeLessThan(one.wave);
          if (one.manifest.kind !== "ConfigMap") continue;
          const pods = own.filter((each) => PODS.includes(each.manifest.kind) && hookOf(each) === undefined);
          for (const { wave } of pods) expect(wave).toBeGreaterThan(one.wave);
        }
      }
    }),
  );
});

/** What the API server never lets a workload change, and the pods, each of which is replaced when it changes. */
function lastingOf({ manifest }: ReleaseObject): unknown {
  const { selector, volumeClaimTemplates, serviceName, template, jobTemplate } = (manifest.spec ?? {}) as Record<
    string,
    unknown
  >;
  const { kind, metadata } = manifest;
  return { kind, name: metadata.name, selector, volumeClaimTemplates, serviceName, template, jobTemplate };
}

test("another release of the same stack replaces no pod, and no release changes what is immutable", () => {
  fc.assert(
    fc.property(someStack, (stack) => {
      const request = requestOf(stack);
      const next = { ...request, releaseId: "rel_next", version: "1.5.0-rc.1+build" };
      expect(objectsOf(next).map(lastingOf)).toEqual(objectsOf(request).map(lastingOf));
    }),
  );
});

test("another variable replaces the pods of those that get it, and of no other", () => {
  fc.assert(
    fc.property(someStack, (stack) => {
      const { environmentVariables, externalBindings, ...rest } = stack.config as {
        readonly environmentVariables: { readonly variables: readonly object[] };
        readonly externalBindings: object;
      };
      const added = { name: "ADDED", value: "1", type: "plain", targetResources: ["web"] };
      const variables = [...environmentVariables.variables, added];
      const config = { ...rest, externalBindings, environmentVariables: { variables } };
      const now = objectsOf(requestOf({ ...stack, config }));
      for (const [index, before] of objectsOf(requestOf(stack)).entries()) {
        const type =
          (stack.resources.web as { readonly config: { readonly type: string } } | undefined)?.config.type ?? "";
        const isPod = PODS.includes(before.manifest.kind) && ["container", "worker", "daemon"].includes(type);
        const after = now[index];
        if (before.resourceId === "web" && isPod) expect(after).not.toEqual(before);
        else expect(after).toEqual(before);
      }
    }),
  );
});
