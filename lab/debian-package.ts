import { execFileSync } from "node:child_process";

/**
 * Why a program of Debian's is not here; as root its package is installed. Undefined: it is here.
 *
 * @param works throws when the program is missing or does not start
 * @param more packages that the program needs and does not ask for
 */
export function packageProblem(name: string, works: () => void, more: readonly string[] = []): string | undefined {
  if (isWell(works)) return undefined;
  if (process.getuid?.() !== 0) {
    return `${name} is not installed, and only root can install it: apt-get install ${[name, ...more].join(" ")}`;
  }
  try {
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    // Other test files may be installing theirs.
    const args = ["-o", "DPkg::Lock::Timeout=100", "install", "-y", "--no-install-recommends", name, ...more];
    execFileSync("apt-get", args, { env, stdio: "ignore", timeout: 120_000 });
  } catch {
    return `${name} is not installed, and apt-get install ${[name, ...more].join(" ")} failed`;
  }
  return isWell(works) ? undefined : `${name} was installed and does not start`;
}

function isWell(works: () => void): boolean {
  try {
    works();
    return true;
  } catch {
    return false;
  }
}
