import { expect, test } from "vitest";
import { readLoads } from "../../agent/machines/loads.ts";
import { Interner } from "../../kube/projection/interner.ts";
import { drainPodShape } from "../drains/shapes.ts";
import { loadsOf, pagesOf } from "./loads.ts";

function pod(nodeName: string, requests: readonly object[], phase = "Running") {
  const containers = requests.map((each) => ({ name: "main", resources: { requests: each } }));
  const metadata = { name: "p", namespace: "shop", uid: "u", resourceVersion: "1" };
  return drainPodShape.fromJson({ metadata, spec: { nodeName, containers }, status: { phase } }, new Interner());
}

test("what the containers of a node's pods ask for is added up; what is over or has no node is left out", () => {
  const loads = loadsOf([
    pod("m-1", [{ cpu: "250m", memory: "1Gi" }, { cpu: "1" }]),
    pod("m-1", [{ memory: "512Mi", "ephemeral-storage": "1G" }, {}]),
    pod("m-1", [{ cpu: "8" }], "Succeeded"),
    pod("m-2", [], "Pending"),
    pod("", [{ cpu: "8" }], "Pending"),
  ]);
  expect([...loads]).toEqual([
    ["m-1", [1_250, 1_610_612_736, 1_000_000_000, 2]],
    ["m-2", [0, 0, 0, 1]],
  ]);
});

test("the agent reads what is written, and more nodes than a page has are on several", () => {
  const loads = new Map(Array.from({ length: 1_200 }, (_, at) => [`m-${at}`, [at + 0.4, at, 0, 1]] as const));
  const pages = pagesOf(loads);
  expect(pages).toHaveLength(3);
  const read = new Map(pages.flatMap(readLoads));
  expect(read.size).toBe(1_200);
  expect(read.get("m-7")).toEqual([7, 7, 0, 1]);
  // The same loads in another order are the same texts.
  expect(pagesOf(new Map([...loads].reverse()))).toEqual(pages);
});
