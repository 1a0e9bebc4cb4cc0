import { Program, type ProgramOptions } from "../../lab/cluster/program.ts";
import { Watchdog } from "../../lab/cluster/watchdog.ts";
import { findPostgres } from "../../src/platform/testing/postgres.ts";

/** A program that is started now and killed with the stack. */
export function running(stack: AsyncDisposableStack, options: Omit<ProgramOptions, "watchdog">): Program {
  const watchdog = new Watchdog();
  const program = new Program({ ...options, watchdog });
  stack.defer(async () => {
    await program.kill();
    watchdog.done();
  });
  program.spawn();
  return program;
}

/** Whether a process of the product says so on its port of health. */
export function readyOn(port: number): (signal: AbortSignal) => Promise<boolean> {
  return (signal) =>
    fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.any([signal, AbortSignal.timeout(2_000)]) }).then(
      ({ ok }) => ok,
      () => false,
    );
}

/** A PostgreSQL server, stopped with the stack. */
export async function postgresServer(stack: AsyncDisposableStack): Promise<{ readonly url: string }> {
  const start = findPostgres();
  if (start === undefined) throw new Error("the platform needs PostgreSQL: docs/benchmarks.md says how");
  const server = await start();
  stack.defer(() => server.stop());
  return server;
}
