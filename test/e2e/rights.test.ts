import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { soon, useCast } from "./cast.ts";
import { kubectl, kubectlAs } from "./kubectl.ts";
import { GRANTS, SHOP, SYSTEM } from "./scene.ts";

const cast = useCast();
const GOLDEN = join(import.meta.dirname, "../chart/golden");

async function rights(account: string, namespace: string): Promise<readonly string[]> {
  const args = ["auth", "can-i", "--list", "-n", namespace, "--as", `system:serviceaccount:${SYSTEM}:${account}`];
  const rows = (await kubectl(cast().scene, args, soon())).trimEnd().split("\n").slice(1);
  return rows.map((row) => row.trim().replaceAll(/ {2,}/g, "  "));
}

test.each(["agent", "operator"])("kubectl auth can-i lists for the %s what its golden file says", async (process) => {
  const sections: string[] = [];
  for (const namespace of [SYSTEM, GRANTS, SHOP, "default"]) {
    // Every account may ask for the server's version and for its own rights.
    const everybodys = new Set(await rights("default", namespace));
    const own = (await rights(`sallyport-${process}`, namespace)).filter((row) => !everybodys.has(row));
    sections.push(`# in namespace ${namespace}\n${[...own].sort().join("\n")}\n`);
  }
  expect(sections.join("\n")).toBe(await readFile(join(GOLDEN, `can-i-${process}.txt`), "utf8"));
});

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
