import {
  HOOK_ANNOTATION,
  HOOK_RUN_ANNOTATION,
  HOOK_WEIGHT_ANNOTATION,
} from "../../../contract/stacks/manifest-problems.ts";

// Helm's words for hooks (https://helm.sh/docs/topics/charts_hooks/), in the form of a release or refused.

export type HelmHook =
  | { readonly is: "none" | "test" }
  | { readonly is: "refused"; readonly why: string }
  | { readonly is: "hook"; readonly annotations: Readonly<Record<string, string>>; readonly note: string };

const TESTS: ReadonlySet<string> = new Set(["test", "test-success", "test-failure"]);
const INSTEAD =
  "a release has hooks before or after each installation and each update alike: pre-install,pre-upgrade or post-install,post-upgrade";
const MAX_WEIGHT = 999_999;

/** @param version of the release: helm runs a hook at each upgrade, also one that has not changed */
export function helmHookOf(annotations: Readonly<Record<string, unknown>>, kind: string, version: string): HelmHook {
  const words = String(annotations["helm.sh/hook"] ?? "")
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
  if (words.length === 0) return { is: "none" };
  if (words.every((word) => TESTS.has(word))) return { is: "test" };
  // A test that is another hook as well is that one.
  const times = new Set(words.filter((word) => !TESTS.has(word)));
  const time = (["pre", "post"] as const).find(
    (each) => times.has(`${each}-install`) && times.has(`${each}-upgrade`) && times.size === 2,
  );
  if (time === undefined)
    return { is: "refused", why: `helm's hook ${words.join(",")} has no place in a release; ${INSTEAD}` };
  const weight = String(annotations["helm.sh/hook-weight"] ?? "0").trim();
  const number = Number(weight);
  if (!/^[+-]?\d+$/.test(weight) || Math.abs(number) > MAX_WEIGHT) {
    return {
      is: "refused",
      why: `helm.sh/hook-weight ${JSON.stringify(weight)} is no whole number of at most 6 digits`,
    };
  }
  const isJob = kind === "Job";
  const when = time === "pre" ? "before the rest" : "after the rest";
  const stays = policiesOf(annotations).filter((policy) => policy !== "before-hook-creation");
  const left =
    stays.length === 0 ? "" : `; it stays until the next release, though its hook-delete-policy is ${stays.join(",")}`;
  return {
    is: "hook",
    annotations: {
      [HOOK_ANNOTATION]: time,
      ...(number !== 0 && { [HOOK_WEIGHT_ANNOTATION]: String(number) }),
      ...(isJob && { [HOOK_RUN_ANNOTATION]: version.slice(0, 256) }),
    },
    note: `${isJob ? "runs" : "is applied"} ${when}, weight ${number}, with each release${left}`,
  };
}

function policiesOf(annotations: Readonly<Record<string, unknown>>): readonly string[] {
  return String(annotations["helm.sh/hook-delete-policy"] ?? "")
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}

/**
 * What becomes of `helm.sh/resource-policy: keep`. A volume claim stays in any case; another object that its vendor could keep would
 * stay with the customer after a deletion.
 */
export function keptBy(
  annotations: Readonly<Record<string, unknown>>,
  kind: string,
): { readonly isRefused: boolean; readonly words: string } | undefined {
  if (
    String(annotations["helm.sh/resource-policy"] ?? "")
      .trim()
      .toLowerCase() !== "keep"
  )
    return undefined;
  if (kind === "PersistentVolumeClaim") {
    return {
      isRefused: false,
      words: "stays when a release lacks it, and when the deployment is deleted, as each volume claim",
    };
  }
  const words =
    "helm.sh/resource-policy keep has no place in a release: of what it brings only volume claims stay; leave the policy out";
  return { isRefused: true, words };
}
