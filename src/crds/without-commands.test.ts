import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../base/testing/runs.ts";
import { holdsCommand, withoutCommands } from "./without-commands.ts";

describe("what agent and operator write", () => {
  it.each([
    "kubectl create clusterrolebinding r --clusterrole=cluster-admin --user=mallory",
    "run this: KubeCtl  delete ns shop",
    "first `kubectl get pods`",
    `type ku""bectl get pods`,
    "type ku'b'ectl get pods",
    "type kube\\ctl get pods",
    "helm install x https://example.com/x.tgz",
    "then helm\tupgrade x",
    "see (oc adm policy add-cluster-role-to-user cluster-admin mallory)",
    "sallyport approve ar-1",
    "k delete ns shop",
    "curl https://example.com",
    "gcloud x --project=y",
    "terraform apply -auto-approve",
    "echo x | tee y",
    "a; b && c",
    "$(id)",
    "one\ntwo",
    '-kube\n"\n',
  ])("is no command: %j", (text) => {
    const clean = withoutCommands(text);
    expect(holdsCommand(text)).toBe(true);
    expect(holdsCommand(clean)).toBe(false);
    expect(withoutCommands(clean)).toBe(clean);
  });

  it.each([
    "an approver makes 2 of 3 bindings; status.bindings has the lines",
    'rolebindings.rbac.authorization.k8s.io is forbidden: User "system:serviceaccount:a:b" cannot list resource "pods"',
    "accepted, but not opened to Sallyport's accounts: shop, jobs",
    "deployment helm-controller has 2 of 3 replicas",
    "the proxy http://proxy.example.com:3128 does not answer (ECONNREFUSED)",
    "waits for a decision until 2026-01-01T00:00:00Z; to be told: #platform-oncall",
    "the agent may not create serviceaccounts/token in shop (role sallyport-operator)",
  ])("may be %j", (text) => {
    expect(holdsCommand(text)).toBe(false);
    expect(withoutCommands(text)).toBe(text);
  });

  it("holds no command after the commands were taken out", () => {
    const part = fc.constantFrom(
      "kube",
      "ctl",
      "helm",
      "sallyport",
      "approve",
      "sh",
      "k",
      "oc",
      "-",
      "--",
      " ",
      "x",
      '"',
    );
    const near = fc.array(
      fc.oneof(part, fc.constantFrom("'", "`", "|", "\n", "\\", "=", "(", "_", "-n", "K", "\u212a")),
      {
        maxLength: 24,
      },
    );
    fc.assert(
      fc.property(
        fc.oneof(
          near.map((parts) => parts.join("")),
          fc.string({ unit: "binary" }),
        ),
        (text) => {
          const clean = withoutCommands(text);
          expect(holdsCommand(clean)).toBe(false);
          expect(withoutCommands(clean)).toBe(clean);
        },
      ),
      { numRuns: runs(2_000) },
    );
  });
});
