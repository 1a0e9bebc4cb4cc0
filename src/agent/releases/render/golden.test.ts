import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stringify } from "yaml";
import { USES_NOTHING } from "../../../crds/released/may-use.ts";
import { RELEASE_KINDS, type ReleaseRules, releaseProblems } from "../../../operator/rollouts/release-rules.ts";
import { renderStack } from "./render-stack.ts";
import { GOLDEN_CASES, requestOf } from "./testing/golden-cases.ts";

const GOLDEN = join(import.meta.dirname, "testing/golden");
const RULES: ReleaseRules = {
  kinds: RELEASE_KINDS,
  namespaces: ["shop", "shop-jobs"],
  registries: [],
  mayExpose: false,
  // What `externalBindings` name is the customer's.
  mayRead: { secrets: ["*"], configMaps: ["*"], volumeClaims: [] },
  mayUse: USES_NOTHING,
  maxPods: 100,
  podSecurity: "restricted",
};

// After a change that is meant: `npx vitest run --project unit src/agent/releases/render/golden.test.ts -u`, then read the files.
test.each(GOLDEN_CASES)(
  "$name is rendered as in its file, and breaks no rule of releases",
  async ({ name, ...given }) => {
    const rendered = renderStack(requestOf(given));
    if (!rendered.ok) throw new Error(JSON.stringify(rendered.problems, undefined, 2));
    expect(releaseProblems(rendered.objects, RULES)).toEqual([]);
    const documents = rendered.objects.map(({ wave, frozen, resourceId, manifest }) => {
      const words = `# wave ${wave}, of ${resourceId}${frozen ? ", frozen" : ""}`;
      return `${words}\n${stringify(manifest, { lineWidth: 0 })}`;
    });
    await expect(
      `# configuration ${rendered.configHash}\n${documents.map((each) => `---\n${each}`).join("")}`,
    ).toMatchFileSnapshot(join(GOLDEN, `${name}.yaml`));
  },
);

test("there is no file of a case that is gone", () => {
  expect(readdirSync(GOLDEN).toSorted()).toEqual(GOLDEN_CASES.map(({ name }) => `${name}.yaml`).toSorted());
});
