import { vi } from "vitest";

/** What `look` finds, once that is something: for what other processes and sockets bring about, in real time. */
export function until<T>(look: () => Promise<T>): ReturnType<typeof vi.waitUntil<T>> {
  return vi.waitUntil(look, { timeout: 120_000, interval: 25 });
}
