// `npm run programs`: builds the Kubernetes programs before anything needs them. Ends at once when they exist.

import { ProgramsError } from "../lab/cluster/go-build.ts";
import { findPrograms } from "../lab/cluster/programs.ts";
import { readOptions } from "./running/options.ts";

readOptions(
  {
    name: "npm run programs",
    help: "usage: npm run programs\n\nBuilds the Kubernetes programs that tests and lab start, unless they exist.\n",
  },
  {},
);

const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort(name));

try {
  await findPrograms(
    { controllers: true, kwok: true, say: (line) => process.stderr.write(`sallyport: ${line}\n`) },
    stop.signal,
  );
} catch (error) {
  if (!stop.signal.aborted)
    process.stderr.write(`sallyport: ${error instanceof ProgramsError ? error.message : String(error)}\n`);
  process.exitCode = stop.signal.aborted ? 130 : 1;
}
