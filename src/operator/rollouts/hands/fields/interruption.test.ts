import { expect, test } from "vitest";
import type { LiveObject } from "../release-api.ts";
import { stopsWorkload } from "./interruption.ts";

const workload = (strategy: string | undefined, image: string, kind = "Deployment"): LiveObject =>
  ({
    ...{ apiVersion: "apps/v1", kind, metadata: { name: "web" } },
    spec: { ...(strategy !== undefined && { strategy: { type: strategy } }), template: { image }, replicas: 2 },
  }) as unknown as LiveObject;

test.each<[string, LiveObject, LiveObject, boolean]>([
  ["other pods with Recreate", workload("Recreate", "a"), workload("Recreate", "b"), true],
  ["the same pods with Recreate", workload("Recreate", "a"), workload("Recreate", "a"), false],
  ["Recreate from now on", workload("RollingUpdate", "a"), workload("Recreate", "a"), true],
  ["Recreate where nothing was said", workload(undefined, "a"), workload("Recreate", "a"), true],
  ["Recreate no more", workload("Recreate", "a"), workload("RollingUpdate", "b"), false],
  ["other pods, one by one", workload("RollingUpdate", "a"), workload("RollingUpdate", "b"), false],
  ["another kind", workload("Recreate", "a", "Widget"), workload("Recreate", "b", "Widget"), false],
])("%s", (_, before, after, stops) => {
  expect(stopsWorkload(before, after)).toBe(stops);
});
