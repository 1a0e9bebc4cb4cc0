import { join } from "node:path";
import { freePort } from "../../../../lab/cluster/ports.ts";
import type { Program } from "../../../../lab/cluster/program.ts";
import { Watchdog } from "../../../../lab/cluster/watchdog.ts";
import { productProcess } from "../../../../lab/product-process.ts";
import { openDatabase } from "../../../../src/platform/database/open.ts";
import { type RunningPlatform, startPlatform } from "../../../../src/platform/server.ts";
import { dumped } from "../../../../src/platform/testing/dump.ts";
import { findPostgres, type TestPostgres } from "../../../../src/platform/testing/postgres.ts";
import { signal } from "../../../world/wait.ts";

const SEALING_KEY = "5a".repeat(32);

/**
 * The platform as processes of its own, whose memory can be read and which can be killed: two on PostgreSQL, so that what
 * a session carries passes both; where there is no PostgreSQL, one on a folder.
 */
export class PlatformProcesses {
  /** In this process, for the vendor's objects; {@link takeOver} ends it. */
  readonly seeding: RunningPlatform & { takeOver(): Promise<void> };
  /** Of the engineer, and of the cluster. */
  readonly urls: readonly [string, string];
  readonly programs: readonly Program[];
  readonly #folder: string;
  readonly #postgres: TestPostgres | undefined;
  readonly #watchdog: Watchdog;

  private constructor(
    seeding: RunningPlatform,
    { folder, ports, postgres }: { folder: string; ports: readonly number[]; postgres: TestPostgres | undefined },
  ) {
    this.#folder = folder;
    this.#postgres = postgres;
    this.#watchdog = new Watchdog();
    const urls = ports.map((port) => `http://127.0.0.1:${port}`);
    this.urls = [urls[0] ?? "", urls.at(-1) ?? ""];
    this.programs = ports.map((port, index) =>
      productProcess({
        ...{ kind: "platform", name: `platform-${index}`, logs: folder, port, watchdog: this.#watchdog },
        env: {
          SALLYPORT_PLATFORM_PORT: String(port),
          SALLYPORT_PLATFORM_RATE_LIMITS: "off",
          SALLYPORT_PLATFORM_SEALING_KEY: SEALING_KEY,
          ...(postgres === undefined
            ? { SALLYPORT_PLATFORM_DATA: join(folder, "platform") }
            : {
                SALLYPORT_PLATFORM_DATABASE_URL: postgres.url,
                SALLYPORT_PLATFORM_PEER_URL: urls[index] ?? "",
              }),
        },
      }),
    );
    const takeOver = async (): Promise<void> => {
      await seeding.close();
      await this.start();
    };
    this.seeding = { ...seeding, takeOver };
  }

  static async begin(folder: string): Promise<PlatformProcesses> {
    const postgres = await findPostgres()?.();
    const ports = await Promise.all(Array.from({ length: postgres === undefined ? 1 : 2 }, freePort));
    const seeding = await startPlatform({
      database: postgres === undefined ? { pglite: join(folder, "platform") } : { postgres: postgres.url },
      sealingKey: Buffer.from(SEALING_KEY, "hex"),
      rateLimits: false,
      ...(ports[0] !== undefined && { port: ports[0] }),
    });
    return new PlatformProcesses(seeding, { folder, ports, postgres });
  }

  async start(): Promise<void> {
    await Promise.all(this.programs.map((program) => program.start(signal())));
  }

  async kill(): Promise<void> {
    await Promise.all(this.programs.map((program) => program.kill("SIGKILL")));
  }

  /** Every row of every table. A folder is one process's, so that one is down meanwhile. */
  async dump(): Promise<string> {
    const isShared = this.#postgres !== undefined;
    if (!isShared) await this.kill();
    const location = isShared ? { postgres: this.#postgres.url } : { pglite: join(this.#folder, "platform") };
    const database = await openDatabase(location);
    try {
      return await dumped(database.db);
    } finally {
      await database.close();
      if (!isShared) await this.start();
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.programs.map((program) => program.stop(5_000)));
    this.#watchdog.done();
    await this.seeding.close();
    await this.#postgres?.stop();
  }
}
