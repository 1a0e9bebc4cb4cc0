import { createHash } from "node:crypto";
import { globSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** Where packages of others lie on a machine: npm, Go, Debian, Python. */
const ROOTS = ["node_modules", join(homedir(), "go/pkg/mod"), "/usr/share", "/usr/lib/python3", "/usr/local/lib"];
const MAX_BYTES = 4 * 1024 * 1024;

/** Every file of public packages that looks like a manifest of Kubernetes and is no template; of equal ones the first. */
export function manifestFiles(): readonly string[] {
  const seen = new Set<string>();
  return ROOTS.flatMap((cwd) => globSync("**/*.{yaml,yml,json}", { cwd }).map((file) => join(cwd, file))).filter(
    (path) => {
      const found = statSync(path, { throwIfNoEntry: false });
      if (found === undefined || !found.isFile() || found.size > MAX_BYTES) return false;
      const bytes = readFileSync(path);
      const looksRight =
        ["apiVersion", "kind", "metadata"].every((word) => bytes.includes(word)) && !bytes.includes("{{");
      const digest = createHash("sha256").update(bytes).digest("hex");
      if (!looksRight || seen.has(digest)) return false;
      seen.add(digest);
      return true;
    },
  );
}
