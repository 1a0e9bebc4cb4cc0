import { expect } from "vitest";
import type { KubectlResult } from "../../../lab/cluster/kubectl.ts";
import { eventually } from "../../world/wait.ts";

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
  await eventually(act, ({ code }) => code === 0);
}

/** Repeats: the API server knows of a binding that has come or gone only a moment later. */
export async function eventuallyRefused(act: () => Promise<KubectlResult>, words = ""): Promise<void> {
  refused(await eventually(act, ({ code, stderr }) => code !== 0 && stderr.includes(words)), words);
}
