import { type ChildProcess, spawn } from "node:child_process";

/**
 * Lives one step longer than this process. It reads which children exist from a pipe; when the pipe closes without
 * "done", this process died without cleaning up (SIGKILL, out of memory): then it kills the children and removes the folder.
 *
 * A shell loop and not a Node process: 1 MB instead of 40. POSIX sh, because that is there wherever npm is.
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

/** Keeps the promise that no child outlives this process, however it ends. */
export class Watchdog {
  readonly #shell: ChildProcess;

  /** @param removeFolder removed too when this process dies without {@link done}; the children's data. */
  constructor(removeFolder?: string) {
    // In a session of its own, so that the terminal's Ctrl-C reaches us and not it.
    this.#shell = spawn("sh", ["-c", SCRIPT, "watchdog", removeFolder ?? ""], {
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
    });
    this.#shell.stdin?.on("error", () => undefined); // It was killed by hand: nothing is left to protect.
    this.#shell.unref();
    const pipe: unknown = this.#shell.stdin;
    if (typeof pipe === "object" && pipe !== null && "unref" in pipe && typeof pipe.unref === "function") pipe.unref();
  }

  /** @param pid of a child that leads its own process group (spawned with `detached`). */
  add(pid: number): void {
    this.#tell(`add ${pid}`);
  }

  /** The child ended and its number may soon be somebody else's. */
  drop(pid: number): void {
    this.#tell(`drop ${pid}`);
  }

  /** Everything was stopped in order; the watchdog leaves without doing anything. */
  done(): void {
    this.#tell("done");
    this.#shell.stdin?.end();
  }

  #tell(line: string): void {
    this.#shell.stdin?.write(`${line}\n`);
  }
}
