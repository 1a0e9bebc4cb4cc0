/** The name under which the builders of this process sleep until there is something to build. */
export const BUILDER = "builder";

/** The name under which a builder of this process, beside its work, sleeps until the package may have been canceled. */
export function buildSleeper(packageId: string): string {
  return `build ${packageId}`;
}
