import { DEPLOYMENT_ID_LABEL } from "../../../src/crds/release-names.ts";
import { SHOP } from "../../world/people.ts";
import type { Attack } from "../attacks.ts";
import { MEMBER, released } from "../releases/released-objects.ts";
import { acrossDeployments, binding, OBJECTS, OTHER_UID, OTHERS, PLANS, RUNS, type Who } from "./release-writes.ts";
import { create } from "./writes.ts";

// What the accounts of releases may not write.

export const OBJECT_ATTACKS: readonly Attack<Who>[] = [
  {
    title: "the account that plans changes nothing of a release's",
    ...{ policy: PLANS, as: "plan", words: "tries out (dryRun=All) and changes nothing" },
    // Comes to pass without the policy, and is each time a change.
    args: () => [
      "patch",
      "configmap",
      "member",
      "-n",
      SHOP,
      "-p",
      JSON.stringify({ data: { tried: `${Date.now()}` } }),
    ],
  },
  {
    title: "nor of the customer's",
    ...{ policy: PLANS, as: "plan", words: "tries out (dryRun=All) and changes nothing", isReal: true },
    args: () => ["delete", "configmap", "member", "-n", SHOP],
  },
  {
    title: "nor makes anything, and it is that policy which says so: a plan begins with the proof",
    ...{ policy: PLANS, as: "plan", words: "ValidatingAdmissionPolicy 'sallyport-plan-accounts'", isReal: true },
    args: () => ["create", "configmap", "probe", "-n", SHOP],
  },
  {
    title: "a rollout makes no Secret",
    ...{ ...RUNS, words: "kinds that releases may install", unless: "releases bring secret values" },
    ...create(() => released("v1", "Secret", "fresh")),
  },
  {
    title: "nor a right",
    ...{ ...RUNS, words: "kinds that releases may install" },
    ...create(() => ({ ...binding({ role: "view", account: "default" }) })),
  },
  {
    title: "nor a right in the whole cluster",
    ...{ ...RUNS, words: "kinds that releases may install" },
    ...create(() => binding({ role: "view", account: "default", kind: "ClusterRoleBinding" })),
  },
  {
    title: "nor scales by the subresource",
    ...{ ...RUNS, words: "kinds that releases may install" },
    args: () => ["scale", "deployment", "member", "-n", SHOP, "--replicas=3", "--dry-run=server"],
  },
  {
    title: "nor goes through a proxy of the API server",
    ...{ ...RUNS, words: "kinds that releases may install" },
    args: () => ["get", "--raw", `/api/v1/namespaces/${SHOP}/services/member/proxy/`],
  },
  {
    title: "nor writes in a system namespace",
    ...{ ...RUNS, words: "nothing in a system namespace" },
    ...create(() => released("v1", "ConfigMap", "fresh", {}, { namespace: "kube-system" })),
  },
  {
    title: "nor makes what shows no deployment",
    ...{ ...RUNS, words: "makes objects with the labels" },
    ...create(() => released("v1", "ConfigMap", "fresh", {}, { labels: {} })),
  },
  {
    title: "nor changes the customer's own",
    ...{ ...RUNS, words: "changes and deletes only what a release has installed" },
    args: () => ["annotate", "deployment", "web", "-n", SHOP, "a=b", "--dry-run=server"],
  },
  {
    title: "nor deletes it",
    ...{ ...RUNS, words: "changes and deletes only what a release has installed" },
    args: () => ["delete", "deployment", "web", "-n", SHOP, "--dry-run=server"],
  },
  {
    title: "nor gives an object to another deployment",
    ...{ ...RUNS, words: "gives no object to another deployment" },
    args: () => [
      "label",
      "configmap",
      "member",
      "-n",
      SHOP,
      `${DEPLOYMENT_ID_LABEL}=x`,
      "--overwrite",
      "--dry-run=server",
    ],
  },
  {
    title: "nor makes one of another deployment",
    ...{ ...RUNS, words: "objects of its own deployment only" },
    ...create(() => released("v1", "ConfigMap", "fresh", {}, { labels: OTHERS })),
  },
  acrossDeployments("nor changes one of another deployment", "annotate", "configmap", "others", "a=b"),
  acrossDeployments("nor deletes one of another deployment", "delete", "configmap", "others"),
  acrossDeployments(
    "nor lets one of another deployment go",
    ...["label", "configmap", "others", ...Object.keys(OTHERS).map((label) => `${label}-`)],
  ),
  acrossDeployments(
    "nor takes one of another deployment for its own",
    ...["label", "configmap", "others", "--overwrite"],
    ...Object.entries(MEMBER).map(([label, value]) => `${label}=${value}`),
  ),
  {
    title: "nor does the account that plans show that it could",
    ...{ policy: OBJECTS, as: "plan", words: "objects of its own deployment only" },
    args: () => ["delete", "configmap", "others", "-n", SHOP, "--dry-run=server"],
  },
  {
    title: "an account whose name says no deployment writes no object",
    ...{ policy: OBJECTS, as: "unnamed", words: "objects of its own deployment only" },
    ...create(() => released("v1", "ConfigMap", "fresh")),
  },
  {
    title: "nor keeps one from being deleted",
    ...{ ...RUNS, words: "no ownerReferences and no finalizers" },
    ...create(() => released("v1", "ConfigMap", "fresh", {}, { finalizers: ["example.com/keep"] })),
  },
  {
    title: "nor has one deleted with another",
    ...{ ...RUNS, words: "no ownerReferences and no finalizers" },
    ...create(() =>
      released(
        "v1",
        "ConfigMap",
        "fresh",
        {},
        {
          ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "other", uid: OTHER_UID }],
        },
      ),
    ),
  },
  {
    title: "nor makes objects of which nothing knows the names",
    ...{ ...RUNS, words: "no generateName" },
    ...create(() => released("v1", "ConfigMap", "fresh", {}, { name: undefined, generateName: "fresh-" })),
  },
];
