import fc from "fast-check";
import { expect, test } from "vitest";
import { AUTO_ACCOUNT, operationRole } from "../group.ts";
import { BUILT_IN } from "../operations/catalog.ts";
import { BINDING_LINE, bindingLine, borrower, isLent, lentBinding, lentRole, rolesOfPlan } from "./lending.ts";

const GRANTS = "sallyport-grants";
const ACCOUNT = "grant-0123456789ab";
const ROLE = { role: operationRole("kubernetes", "scale"), namespace: "shop" };
const subject = { kind: "ServiceAccount", name: ACCOUNT, namespace: GRANTS };
const roleRef = { name: ROLE.role };

test("the line is one plain kubectl command, as the API server wants it", () => {
  const line = bindingLine(ROLE, ACCOUNT, { grantsNamespace: GRANTS });
  expect(line).toBe(
    "kubectl create rolebinding grant-0123456789ab-kubernetes-scale -n shop --clusterrole=sallyport-op-kubernetes-scale --serviceaccount=sallyport-grants:grant-0123456789ab",
  );
  expect(line).toMatch(new RegExp(BINDING_LINE));
  const inNamespaces = bindingLine(ROLE, ACCOUNT, { grantsNamespace: GRANTS, roleKind: "Role" });
  expect(inNamespaces).toContain(" --role=sallyport-op-");
  expect(inNamespaces).toMatch(new RegExp(BINDING_LINE));
});

test("a role of cluster scope is lent by a ClusterRoleBinding, and no other role is", () => {
  const lent = lentRole("kubernetes/cordon-node", "shop", BUILT_IN);
  if (lent === undefined) throw new Error("no role");
  expect(lent).toEqual({ role: "sallyport-op-kubernetes-cordon-node", namespace: undefined });
  const line = bindingLine(lent, ACCOUNT, { grantsNamespace: GRANTS });
  expect(line).toBe(
    "kubectl create clusterrolebinding grant-0123456789ab-kubernetes-cordon-node --clusterrole=sallyport-op-kubernetes-cordon-node --serviceaccount=sallyport-grants:grant-0123456789ab",
  );
  expect(line).toMatch(new RegExp(BINDING_LINE));
  expect(line.replaceAll("cordon-node", "delete-pod")).not.toMatch(new RegExp(BINDING_LINE));
  const binding = lentBinding(lent, ACCOUNT, { grantsNamespace: GRANTS, roleKind: "Role" }, {});
  expect(binding).toMatchObject({ kind: "ClusterRoleBinding", roleRef: { kind: "ClusterRole" } });
  expect(binding.metadata).not.toHaveProperty("namespace");
});

test("whatever a plan says, what is shown is such a line or nothing", () => {
  const word = fc.oneof(
    fc.string(),
    fc.constantFrom("kubernetes", "shop", "a;b", "$(x)", "--kubeconfig=x", "x\ny", "-n"),
  );
  fc.assert(
    fc.property(word, word, word, (plugin, operation, namespace) => {
      const lent = lentRole(`${plugin}/${operation}`, namespace, BUILT_IN);
      if (lent === undefined) return;
      expect(bindingLine(lent, ACCOUNT, { grantsNamespace: GRANTS })).toMatch(new RegExp(BINDING_LINE));
    }),
  );
});

test("a plan needs each role once in each namespace", () => {
  const line = (command: string, namespace: unknown) => ({ command, params: { namespace } });
  const commands = [
    line("kubernetes/scale", "shop"),
    line("kubernetes/scale", "shop"),
    line("kubernetes/scale", "bank"),
    line("kubernetes/describe", "shop"),
    line("kubernetes/describe", "Not A Namespace"),
    { command: "kubernetes/describe" },
  ];
  expect(rolesOfPlan(commands, BUILT_IN)).toEqual([
    { role: "sallyport-op-kubernetes-scale", namespace: "shop" },
    { role: "sallyport-op-kubernetes-scale", namespace: "bank" },
    { role: "sallyport-op-kubernetes-describe", namespace: "shop" },
  ]);
});

test.each([
  ["as an approver makes it", lentBinding(ROLE, ACCOUNT, { grantsNamespace: GRANTS }, {}), ACCOUNT],
  ["another role", { roleRef: { name: "view" }, subjects: [subject] }, undefined],
  ["nobody", { roleRef }, undefined],
  ["two subjects", { roleRef, subjects: [subject, subject] }, undefined],
  ["a user of that name", { roleRef, subjects: [{ kind: "User", name: ACCOUNT }] }, undefined],
  ["another namespace's account", { roleRef, subjects: [{ ...subject, namespace: "shop" }] }, undefined],
  ["what runs by itself", { roleRef, subjects: [{ ...subject, name: AUTO_ACCOUNT }] }, undefined],
] as const)("whose binding it is: %s", (_, binding, account) => {
  expect(borrower(binding, GRANTS)).toBe(account);
  expect(isLent(ROLE, ACCOUNT, [binding], GRANTS)).toBe(account === ACCOUNT);
});
