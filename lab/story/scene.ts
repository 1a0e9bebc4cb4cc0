import type { Narrator } from "./narrator.ts";
import type { World } from "./world.ts";

/** What each step of the story gets. */
export interface Scene {
  readonly world: World;
  readonly narrator: Narrator;
}

export const GRANTS = "sallyport-grants";

/** Parameters of the engineer's plan, the same in each step. */
export function scaleParams({ world }: Scene, name: string, replicas: number) {
  return { namespace: world.target.workloadNamespace, kind: "deployment", name, replicas };
}
