import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import type { SetupFingerprints, Stack } from "../../../../contract/deployments/stack.ts";

const FINGERPRINT_VERSION = 1;

/**
 * SHA-256 over RFC 8785 of what a setup depends on: frozen resources, inputs, permissions (§5.1). Live resources change
 * with updates and do not count.
 */
export function fingerprintOf(platform: string, stack: Stack): SetupFingerprints[string] {
  const frozen = Object.entries(stack.resources).filter(([, { lifecycle }]) => lifecycle === "frozen");
  const setup = {
    inputs: stack.inputs ?? [],
    permissions: stack.permissions ?? {},
    resources: Object.fromEntries(frozen),
  };
  return { target: platform, version: FINGERPRINT_VERSION, fingerprint: sha256OfJson(setup) };
}

/** Lower-case hex; the same for values that differ only in the order of their keys. */
export function sha256OfJson(value: unknown): string {
  return createHash("sha256")
    .update(canonicalize(value) ?? "")
    .digest("hex");
}
