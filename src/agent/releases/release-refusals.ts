import type { StoredError } from "../../contract/wire/stored-error.ts";
import { printableLine } from "../../crds/printable.ts";
import type { Rendered } from "./render/render-stack.ts";
import { stored } from "./rollout-progress.ts";

const MAX_TOLD_PROBLEMS = 10;

/** The cluster takes no content without objects, and nothing says that what the release names is there. */
export const NOTHING_TO_INSTALL = stored(
  "PREFLIGHT_CHECKS_FAILED",
  "the release has no objects to install: all of its resources are ones that the cluster has already",
);

export function taken(name: string): StoredError {
  return stored("PREFLIGHT_CHECKS_FAILED", `the cluster has another object with the name ${name}`);
}

export function unreadable(problem: string): StoredError {
  return stored("PREFLIGHT_CHECKS_FAILED", `the target cannot be read: ${printableLine(problem, 200)}`);
}

export function unrendered({ problems }: Extract<Rendered, { ok: false }>): StoredError {
  const told = problems.slice(0, MAX_TOLD_PROBLEMS).map(({ path, message, code }) => ({
    path: printableLine(path, 256),
    message: printableLine(message, 512),
    code: printableLine(code, 128),
  }));
  const [first] = told;
  const where = first?.path ? `${first.path} ` : "";
  const more = problems.length > 1 ? `, and ${problems.length - 1} more` : "";
  const code = first?.code === "SECRET_VALUES_REFUSED" ? first.code : "PREFLIGHT_CHECKS_FAILED";
  return stored(code, `no objects can be made of the release: ${where}${first?.message ?? ""}${more}`, {
    problems: told,
  });
}
