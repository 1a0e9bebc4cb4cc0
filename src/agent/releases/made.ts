import { ApiError as KubeError } from "../../kube/client/api-error.ts";
import type { Capacity } from "../kernel/capacity.ts";

interface Named {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly deploymentId: string };
}

/** @returns false: another object has its name. One that is the same, from before a restart or of another agent, is it. */
export async function made<T extends Named>(
  rooms: readonly Pick<Capacity, "made" | "unmade">[],
  object: T,
  create: (object: T) => Promise<unknown>,
  read: () => Promise<Named | undefined>,
): Promise<boolean> {
  for (const room of rooms) room.made(object);
  try {
    await create(object);
    return true;
  } catch (error) {
    for (const room of rooms) room.unmade(object);
    if (!(error instanceof KubeError && error.isAlreadyExists)) throw error;
    const there = await read();
    // Deleted since: the next report tries again.
    return there === undefined || isSame(object.spec, there.spec);
  }
}

/** All but times, which are of the process that made it. */
function isSame(one: object, other: object): boolean {
  const keys = ["deploymentId", "action", "rolloutId", "releaseId", "digest", "contentName", "contentDigest"];
  const [a, b] = [one, other] as readonly Readonly<Record<string, unknown>>[];
  return keys.every((key) => a?.[key] === b?.[key]);
}
