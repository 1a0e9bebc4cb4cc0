import { type ChildProcess, spawn } from "node:child_process";

/**
 * A process that outlives this one. It reads from a pipe which children exist. When the pipe closes without "done",
 * this process has died without cleaning up (SIGKILL, out of memory), and the watchdog kills the children and removes
 * the folder.
 *
 * A shell loop needs 1 MB, a Node process 40. POSIX sh is on every machine that has npm.
 */
const SCRIPT = `
pids=" "
while read -r verb arg; do
  case $verb in
    add) pids="$pids$arg " ;;
    drop) before=\${pids%%" $arg "*}; after=\${pids#*" $arg "}; [ "$before" = "$pids" ] || pids="$before $after" ;;
    done) exit 0 ;;
  esac
done
for pid in $pids; do kill -9 -"$pid" 2>/dev/null || kill -9 "$pid" 2>/dev/null; done
[ -z "$1" ] || rm -rf "$1"
`;

/** Ends the children of this process, however this process ends. */
export class Watchdog {
  readonly #shell: ChildProcess;

  /** @param removeFolder the children's data, removed too when this process dies without {@link done}. */
  constructor(removeFolder?: string) {
    // Its own session: the terminal's Ctrl-C must not end the watchdog.
    this.#shell = spawn("sh", ["-c", SCRIPT, "watchdog", removeFolder ?? ""], {
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
    });
    this.#shell.stdin?.on("error", () => undefined); // The watchdog was killed by hand: do not wait for it.
    this.#shell.unref();
    const pipe: unknown = this.#shell.stdin;
    if (typeof pipe === "object" && pipe !== null && "unref" in pipe && typeof pipe.unref === "function") pipe.unref();
  }

  /** @param pid of a child that leads its own process group (spawned with `detached`). */
  add(pid: number): void {
    this.#tell(`add ${pid}`);
  }

  /** The child ended: its number may soon belong to another process. */
  drop(pid: number): void {
    this.#tell(`drop ${pid}`);
  }

  /** Everything was stopped in order; the watchdog ends and does nothing. */
  done(): void {
    this.#tell("done");
    this.#shell.stdin?.end();
  }

  #tell(line: string): void {
    this.#shell.stdin?.write(`${line}\n`);
  }
}
