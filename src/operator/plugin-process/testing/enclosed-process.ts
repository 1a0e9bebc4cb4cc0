import { chmod, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../../../base/clock.ts";
import { BOUNDARIES, works } from "../boundary.ts";
import { runPlugin } from "../plugin-process.ts";

// Run as a program: `enclosed-process.ts NAME MODULE WITHIN`, which runs a module in a boundary as the user who starts this, and prints what it answers.
// `none` is no boundary; with `try` in place of a module it prints whether the boundary works.

const [name, module = "", withChild] = process.argv.slice(2);
const boundary = BOUNDARIES.find((each) => each.name === name);

if (module === "try") {
  process.stdout.write(String(boundary !== undefined && (await works(boundary))));
} else {
  // The tests' own temp folder lets nobody else write into it.
  const folder = await realpath(await mkdtemp(join("/tmp", "sallyport-enclosed-")));
  await chmod(folder, 0o755);
  const file = join(folder, "plugin.mjs");
  await writeFile(file, Buffer.from(module, "base64"));
  try {
    const ended: { noise?: unknown } = {};
    const outcome = await runPlugin(
      {
        ...{ module: file, operation: "act", params: {}, startedAt: new Date(), timeLimitMs: 60_000, boundary },
        ...(withChild === undefined && { command: [file] }),
      },
      {
        clock: systemClock,
        answer: async () => ({ ok: true, value: { some: "object" } }),
        ended: (noise) => {
          ended.noise = noise;
        },
      },
      AbortSignal.timeout(60_000),
    ).catch((error: unknown) => ({ failed: String(error) }));
    process.stdout.write(JSON.stringify({ outcome, ...ended, file }));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
