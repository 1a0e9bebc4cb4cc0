import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { holdsCommand, toldWords } from "./told-words.ts";

describe("what agent and operator tell", () => {
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
    const told = toldWords(text);
    expect(holdsCommand(text)).toBe(true);
    expect(holdsCommand(told)).toBe(false);
    expect(toldWords(told)).toBe(told);
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
    expect(toldWords(text)).toBe(text);
  });

  it("holds no command after it was made told, whatever it was", () => {
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
          const told = toldWords(text);
          expect(holdsCommand(told)).toBe(false);
          expect(toldWords(told)).toBe(told);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
