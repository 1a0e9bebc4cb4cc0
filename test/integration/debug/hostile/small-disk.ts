import { execFileSync } from "node:child_process";
import { mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Of every Linux; no package of ours brings them. */
const PROGRAMS = { mount: "/bin/mount", unmount: "/bin/umount" };

/** Why no small disk can be made here. Undefined: it can. In many containers root may not mount. */
export function smallDiskProblem(): string | undefined {
  if (process.getuid?.() !== 0) return "only root can mount a small disk";
  const folder = mkdtempSync(join(tmpdir(), "sallyport-disk-"));
  try {
    mountSmallDisk(folder)();
    return undefined;
  } catch (error) {
    return `root may not mount a small disk here: ${error instanceof Error ? error.message : String(error)}`;
  } finally {
    rmdirSync(folder);
  }
}

/** A disk of 2 MB in an empty folder. @returns takes it away */
export function mountSmallDisk(folder: string): () => void {
  execFileSync(PROGRAMS.mount, ["-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], { stdio: "pipe" });
  return () => void execFileSync(PROGRAMS.unmount, [folder]);
}
