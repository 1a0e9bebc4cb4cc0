import { expect, test } from "vitest";
import type { ReleaseObject } from "../../../crds/kinds/release-content.ts";
import { parentMarks } from "./apply-set.ts";

const member = (apiVersion: string, kind: string, namespace: string): ReleaseObject => ({
  ...{ wave: 0, frozen: false, resourceId: "a" },
  manifest: { apiVersion, kind, metadata: { name: "a", namespace } },
});
const parent = (annotations?: Readonly<Record<string, string>>) => ({
  metadata: {
    ...{ name: "dep-1", uid: "u", resourceVersion: "1", creationTimestamp: "2026-01-01T12:00:00Z" },
    ...(annotations && { annotations }),
  },
});

test("the parent names kinds and namespaces of its members, once and sorted, and not its own namespace", () => {
  const members = [
    member("v1", "Service", "shop"),
    member("apps/v1", "Deployment", "shop"),
    member("apps/v1", "Deployment", "billing"),
    member("v1", "ConfigMap", "grants"),
  ];
  expect(parentMarks(parent(), "grants", members, "1.2.3")).toEqual({
    // printf 'dep-1.grants.ManagedDeployment.sallyport.dev' | openssl dgst -sha256 -binary | basenc --base64url
    labels: { "applyset.kubernetes.io/id": "applyset-nMHXWMoZxjuKS7Vc11pivT9w2BxXPE1vNcRArjkW_6I-v1" },
    annotations: {
      "applyset.kubernetes.io/tooling": "sallyport/1.2.3",
      "applyset.kubernetes.io/contains-group-kinds": "ConfigMap,Deployment.apps,Service",
      "applyset.kubernetes.io/additional-namespaces": "billing,shop",
    },
  });
});

test("what it has named stays named: a volume claim of an earlier release is still a member", () => {
  const told = {
    "applyset.kubernetes.io/contains-group-kinds": "PersistentVolumeClaim",
    "applyset.kubernetes.io/additional-namespaces": "",
  };
  expect(parentMarks(parent(told), "grants", [member("v1", "Service", "shop")], "1.2.3").annotations).toMatchObject({
    "applyset.kubernetes.io/contains-group-kinds": "PersistentVolumeClaim,Service",
    "applyset.kubernetes.io/additional-namespaces": "shop",
  });
});
