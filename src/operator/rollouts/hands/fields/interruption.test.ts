import { expect, test } from "vitest";
import type { LiveObject } from "../release-api.ts";
import { interruptionOf } from "./interruption.ts";

const workload = (kind: string, image: string, spec: object = {}): LiveObject =>
  ({
    ...{ apiVersion: "apps/v1", kind, metadata: { name: "web" } },
    spec: { template: { image }, replicas: 2, ...spec },
  }) as unknown as LiveObject;
const deployment = (strategy: string | undefined, image: string): LiveObject =>
  workload("Deployment", image, strategy === undefined ? {} : { strategy: { type: strategy } });
const paused = (image: string, spec: object = {}): LiveObject =>
  workload("Deployment", image, { paused: true, ...spec });
const set = (image: string, updateStrategy: object): LiveObject => workload("StatefulSet", image, { updateStrategy });

const STOPS = "stops X while its pods are replaced: its strategy is Recreate";
const PAUSED = "starts no new pods of X: it is paused";
const ON_DELETE = "leaves the pods of X as they are until each is deleted: its update strategy is OnDelete";

test.each<[string, LiveObject | undefined, LiveObject, string | undefined]>([
  ["other pods with Recreate", deployment("Recreate", "a"), deployment("Recreate", "b"), STOPS],
  ["the same pods with Recreate", deployment("Recreate", "a"), deployment("Recreate", "a"), undefined],
  ["Recreate from now on", deployment("RollingUpdate", "a"), deployment("Recreate", "a"), STOPS],
  ["Recreate where nothing was set", deployment(undefined, "a"), deployment("Recreate", "a"), STOPS],
  ["Recreate no more", deployment("Recreate", "a"), deployment("RollingUpdate", "b"), undefined],
  ["made with Recreate", undefined, deployment("Recreate", "a"), undefined],
  ["other pods, one by one", deployment("RollingUpdate", "a"), deployment("RollingUpdate", "b"), undefined],
  ["made paused", undefined, paused("a"), PAUSED],
  ["other pods, paused", paused("a"), paused("b"), PAUSED],
  ["the same pods, paused", paused("a"), paused("a", { replicas: 3 }), undefined],
  ["resumed", paused("a"), workload("Deployment", "b"), undefined],
  ["other pods on deletion", set("a", { type: "OnDelete" }), set("b", { type: "OnDelete" }), ON_DELETE],
  ["made, with pods replaced on deletion", undefined, set("a", { type: "OnDelete" }), undefined],
  [
    "a partition",
    set("a", {}),
    set("b", { type: "RollingUpdate", rollingUpdate: { partition: 2 } }),
    "leaves pods of X as they are: its update strategy has partition 2",
  ],
  ["no partition", set("a", {}), set("b", { type: "RollingUpdate", rollingUpdate: { partition: 0 } }), undefined],
  [
    "a daemon set's on deletion",
    workload("DaemonSet", "a"),
    workload("DaemonSet", "b", { updateStrategy: { type: "OnDelete" } }),
    ON_DELETE,
  ],
  ["another kind", workload("Widget", "a", { strategy: { type: "Recreate" } }), workload("Widget", "b"), undefined],
])("%s", (_, before, after, words) => {
  expect(interruptionOf(before, after)?.("X")).toBe(words);
});
