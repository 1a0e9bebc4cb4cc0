#!/usr/bin/env node
// The source is TypeScript that Node 24 runs as it is. When this is an older Node, the one that came with the packages does.

import { existsSync } from "node:fs";
import * as module from "node:module";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";
import { keepCompiled } from "./compile-cache.mjs";

const main = fileURLToPath(new URL("../src/cli/main.ts", import.meta.url));

if (Number(process.versions.node.split(".")[0]) >= 24) {
  keepCompiled();
  resolveQuickly();
  await import(main);
} else {
  const bundled = fileURLToPath(new URL("../node_modules/node/bin/node", import.meta.url));
  if (!existsSync(bundled)) {
    process.stderr.write("sallyport needs Node 24 or newer. In a checkout, `npm install` brings one along.\n");
    process.exit(1);
  }
  const { spawn } = await import("node:child_process");
  const child = spawn(bundled, [main, ...process.argv.slice(2)], { stdio: ["inherit", "inherit", "inherit", "ipc"] });
  for (const name of ["SIGTERM", "SIGHUP"]) process.on(name, () => child.kill(name));
  // A terminal's Ctrl-C reaches the child by itself too, and a second one ends it without an orderly stop. So it is passed
  // on as a message, and the child tells apart what it got twice (stop-signals.ts).
  process.on("SIGINT", () => {
    if (child.connected) child.send("SIGINT", () => undefined);
    else child.kill("SIGINT");
  });
  child.once("exit", (code, signal) => {
    process.exitCode = signal === null ? (code ?? 1) : 128 + constants.signals[signal];
  });
}

/**
 * A relative import names a file that is there, in the source and in the packages that it uses. Node would look for each, for links
 * on its way and for the package.json above it: a quarter of what a command of six hundred files takes to start.
 */
function resolveQuickly() {
  const formats = { ts: "module-typescript", mjs: "module" };
  module.registerHooks({
    resolve(specifier, context, next) {
      const [, extension] = /^\.{1,2}\/[^?#]*\.(ts|mjs)$/.exec(specifier) ?? [];
      if (extension === undefined || !context.parentURL?.startsWith("file:")) return next(specifier, context);
      return { url: new URL(specifier, context.parentURL).href, format: formats[extension], shortCircuit: true };
    },
  });
}
