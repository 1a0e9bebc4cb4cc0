import { execFileSync } from "node:child_process";

/** Of every Linux; no package of ours brings them. */
const PROGRAMS = { mount: "/bin/mount", unmount: "/bin/umount" };

/** Why no small disk can be made here. Undefined: it can. */
export function smallDiskProblem(): string | undefined {
  return process.getuid?.() === 0 ? undefined : "only root can mount a small disk";
}

/** A disk of 2 MB in an empty folder. @returns takes it away */
export function mountSmallDisk(folder: string): () => void {
  execFileSync(PROGRAMS.mount, ["-t", "tmpfs", "-o", "size=2m", "tmpfs", folder]);
  return () => void execFileSync(PROGRAMS.unmount, [folder]);
}
