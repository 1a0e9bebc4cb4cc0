import { expect, test } from "vitest";
import { GRANTS, SHOP, SYSTEM } from "../world/people.ts";
import { soon, useCast } from "./cast.ts";
import { kubectl, kubectlAs } from "./kubectl.ts";

// What agent and operator may is in test/chart/golden, which test/chart/install holds against a real API server.

const cast = useCast();

test("the namespace is one that refuses what is not restricted", async () => {
  const pod = JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "loose", namespace: SYSTEM },
    spec: { containers: [{ name: "loose", image: "example.com/loose:1" }] },
  });
  await expect(kubectl(cast().scene, ["create", "--dry-run=server", "-f", "-"], soon(), pod)).rejects.toThrow(
    "violates PodSecurity",
  );
});

test("the approver may decide, and change nothing else", async () => {
  const { approver } = cast().scene.cluster;
  const mayI = async (...args: readonly string[]): Promise<string> =>
    (await kubectlAs(cast().scene, approver, ["auth", "can-i", ...args], soon())).stdout.trim();
  expect(await mayI("patch", "accessgrants.sallyport.dev", "-n", GRANTS)).toBe("yes");
  expect(await mayI("create", "accessgrants.sallyport.dev", "-n", GRANTS)).toBe("no");
  expect(await mayI("patch", "deployments.apps", "-n", SHOP)).toBe("no");
});
