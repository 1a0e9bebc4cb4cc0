import { findPostgres } from "../../../src/platform/testing/postgres.ts";
import type { Row } from "../table.ts";
import { benchAgents } from "./agents.ts";
import { benchLists } from "./lists.ts";
import { benchThroughput } from "./throughput.ts";

export interface PlatformBenchOptions {
  wanted(name: string): boolean;
  readonly rounds: number;
  readonly seconds: number;
  /** Rows of the long lists. */
  readonly many: number;
  readonly agents: number;
  readonly say: (line: string) => void;
}

/** The short lists to compare with, and the requests of each kind: 80 kinds, two sides. */
const LISTS = { few: 1000, requests: 200 };

/** Measures the platform's speed against its goals. */
export async function benchPlatform(options: PlatformBenchOptions, signal: AbortSignal): Promise<Row[]> {
  const start = findPostgres();
  if (start === undefined) throw new Error("the platform's benchmarks need PostgreSQL: docs/benchmarks.md says how");
  const parts = { throughput: benchThroughput, lists: benchLists, agents: benchAgents };
  const rows: Row[] = [];
  for (const [name, bench] of Object.entries(parts)) {
    if (!options.wanted(name)) continue;
    const server = await start();
    try {
      rows.push(...(await bench({ ...options, ...LISTS, postgres: server.url }, signal)));
    } finally {
      await server.stop();
    }
  }
  return rows;
}
