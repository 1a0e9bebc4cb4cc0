import { execFileSync } from "node:child_process";

/** Those that a distribution has as /bin/sh. */
export const SHELLS = [["dash"], ["bash", "--posix"], ["busybox", "ash"]] as const;

/** What is missing of the programs that judge what machines run. @param packageProblem of lab/debian-package.ts */
export function programProblems(packageProblem: (name: string, works: () => void) => string | undefined) {
  const programs = [...SHELLS.map((shell) => [...shell, "-c", ":"]), ["shellcheck", "--version"]];
  const problems = programs.map(([program = "", ...args]) =>
    packageProblem(program, () => execFileSync(program, args, { stdio: "ignore" })),
  );
  return problems.filter((problem) => problem !== undefined);
}
