import {
  chosenKubernetes,
  KUBERNETES_VERSIONS,
  type KubernetesMinor,
  NEWEST,
} from "../../lab/cluster/kubernetes-versions.ts";

/** What Sallyport uses of the API server, an older one lacks, and the tests that need it. */
export interface Lack {
  readonly what: string;
  readonly since: KubernetesMinor;
  /** Case ids of `cases.json`. They are not run on a server that lacks it. */
  readonly cases: readonly string[];
}

export const LACKING = {
  stamping: {
    what: "MutatingAdmissionPolicy v1, which stamps the name of the person who decides",
    since: "1.36",
    cases: ["N01", "N02", "R29"],
  },
  selectableFields: {
    what: "selectableFields of a kind, by which kubectl selects with --field-selector (from 1.31 on)",
    since: "1.33",
    cases: ["O22", "S23"],
  },
  applySubresource: {
    what: "`kubectl apply --subresource`, by which a case tries to write a status; that an approver has no verb on it is S24 too",
    since: "1.33",
    cases: ["S26"],
  },
} as const satisfies Readonly<Record<string, Lack>>;

/** The version that this run uses. */
export const kubernetes: KubernetesMinor = chosenKubernetes() ?? NEWEST;

/** Whether the API server of this run has it. */
export function has(name: keyof typeof LACKING, minor: KubernetesMinor = kubernetes): boolean {
  const order = Object.keys(KUBERNETES_VERSIONS);
  return order.indexOf(minor) >= order.indexOf(LACKING[name].since);
}

/** By case id: what the API server of this run lacks for it. */
export function lackedByCases(minor: KubernetesMinor = kubernetes): ReadonlyMap<string, string> {
  const names = Object.keys(LACKING) as (keyof typeof LACKING)[];
  const lacks = names.filter((name) => !has(name, minor)).map((name): Lack => LACKING[name]);
  return new Map(lacks.flatMap(({ what, cases }) => cases.map((id) => [id, what] as const)));
}
