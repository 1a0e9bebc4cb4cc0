import { join, resolve } from "node:path";
import { buildPackage } from "./packages/build-package.ts";
import { PACKAGES } from "./packages/package-table.ts";

/** `npm run build [-- FOLDER]`: the packages that are published, each in a folder below `dist`, or below FOLDER. */

const dist = resolve(process.argv[2] ?? join(import.meta.dirname, "../dist"));
for (const each of PACKAGES) process.stdout.write(`${each.name}: ${await buildPackage(each, dist)}\n`);
