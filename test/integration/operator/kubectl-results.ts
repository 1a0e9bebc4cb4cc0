import { expect } from "vitest";
import type { KubectlResult } from "../../../lab/cluster/kubectl.ts";

export function allowed({ code, stderr }: KubectlResult): void {
  expect(code, stderr).toBe(0);
}

export function refused({ code, stdout, stderr }: KubectlResult, words = ""): void {
  expect(code, stdout).not.toBe(0);
  expect(stderr.toLowerCase()).toMatch(/forbidden|cannot/);
  expect(stderr).toContain(words);
}

/** Repeats: the API server knows a new binding only a moment later. */
export async function eventuallyAllowed(act: () => Promise<KubectlResult>): Promise<void> {
  for (let left = 20; ; left -= 1) {
    const result = await act();
    if (result.code === 0 || left === 0) return allowed(result);
  }
}
