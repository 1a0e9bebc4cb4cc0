import { join, resolve } from "node:path";
import { buildPackage } from "./packages/build-package.ts";
import { PACKAGES } from "./packages/package-table.ts";
import { readOptions, refuse } from "./running/options.ts";

const SCRIPT = {
  name: "npm run build",
  help: `usage: npm run build [-- FOLDER]

Makes the packages that are published, each in a folder below dist, or below FOLDER.
`,
};

const { positionals } = readOptions(SCRIPT, {}, { allowPositionals: true });
if (positionals.length > 1) refuse(SCRIPT, `one folder, not ${positionals.length}`);
const dist = resolve(positionals[0] ?? join(import.meta.dirname, "../dist"));
for (const each of PACKAGES) process.stdout.write(`${each.name}: ${await buildPackage(each, dist)}\n`);
