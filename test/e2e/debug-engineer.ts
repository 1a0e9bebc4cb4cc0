import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { objectName } from "../../src/crds/group.ts";
import { Typed } from "../integration/debug/typed.ts";
import { SHOP } from "../world/people.ts";
import { type Cast, soon } from "./cast.ts";
import { command } from "./command.ts";

const MAIN = join(import.meta.dirname, "../../bin/sallyport.mjs");

export type Mode = "logs" | "read" | "exec" | "port-forward";

/** What a program said, and how it ended. */
export interface Said {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

/** The vendor's engineer, at a machine that reaches the platform's front and nothing of the customer's. */
export class Engineer {
  readonly #cast: Cast;
  readonly #env: Readonly<Record<string, string | undefined>>;
  /** Of the engineer: keys, kubeconfigs, and files to copy. */
  readonly home: string;

  private constructor(cast: Cast, home: string, env: Readonly<Record<string, string | undefined>>) {
    this.#cast = cast;
    this.#env = env;
    this.home = home;
  }

  static async at(cast: Cast): Promise<Engineer> {
    const { folder, vendor } = cast.scene;
    const home = await mkdtemp(join(folder, "engineer-"));
    const authority = join(home, "vendor-authority.pem");
    await writeFile(authority, vendor.authority);
    return new Engineer(cast, home, {
      PATH: process.env.PATH,
      HOME: home,
      NO_COLOR: "1",
      SALLYPORT_URL: vendor.url,
      SALLYPORT_KEY: (await readFile(vendor.keyFiles.engineer, "utf8")).trim(),
      NODE_EXTRA_CA_CERTS: authority,
    });
  }

  sallyport(...args: readonly string[]): Typed {
    return new Typed(process.execPath, [MAIN, ...args], this.#env);
  }

  async run(...args: readonly string[]): Promise<Said> {
    return ended(this.sallyport(...args));
  }

  /** Asks, has the customer's approver paste the line that it prints, and waits until kubectl may be typed. */
  async open(mode: Mode, ...more: readonly string[]): Promise<Session> {
    const cli = this.sallyport(
      ...["debug", "open", this.#cast.scene.vendor.deploymentId, "-n", SHOP, "--mode", mode, "--minutes", "30"],
      ...["--reason", "500s since 14:02", "--wait", "--print-kubeconfig", ...more],
    );
    const [, line = ""] = await cli.says(/(kubectl patch \S+ ar-\S+ .*'\{.*\}')/);
    await this.#cast.approve(line);
    return this.#served(cli);
  }

  /** Connects again to a session of this engineer's. */
  attach({ id }: Session, ...more: readonly string[]): Promise<Session> {
    return this.#served(this.sallyport("debug", "attach", id, "--print-kubeconfig", ...more));
  }

  async #served(cli: Typed): Promise<Session> {
    const [, kubeconfig = ""] = await cli.says(/^(\S+kubeconfig)$/m, 40_000);
    const [, id = ""] = await cli.says(/(dbg_\w+)/);
    return new Session(id, cli, { PATH: process.env.PATH, HOME: this.home, KUBECONFIG: kubeconfig, TERM: "xterm" });
  }
}

/** A session that is served now. */
export class Session {
  readonly id: string;
  readonly cli: Typed;
  readonly #env: Readonly<Record<string, string | undefined>>;

  constructor(id: string, cli: Typed, env: Readonly<Record<string, string | undefined>>) {
    this.id = id;
    this.cli = cli;
    this.#env = env;
  }

  /** Of its object in the cluster. */
  get name(): string {
    return objectName(this.id);
  }

  /** Runs a kubectl that goes on. */
  start(kubectl: string, ...args: readonly string[]): Typed {
    return new Typed(kubectl, args, this.#env);
  }

  /** Runs a kubectl to its end. */
  kubectl(kubectl: string, ...args: readonly string[]): Promise<Said> {
    const typed = this.start(kubectl, ...args);
    typed.child.stdin.end();
    return ended(typed);
  }

  /** Runs a kubectl in a terminal of its own, as of a person: its input is what is typed. */
  async inTerminal(kubectl: string, ...args: readonly string[]): Promise<Terminal> {
    const line = `tty; stty rows 24 cols 80; exec ${[kubectl, ...args].map(quoted).join(" ")}`;
    const typed = new Typed("script", ["-qec", line, "/dev/null"], { ...this.#env, SHELL: "/bin/sh" });
    const [device = ""] = await typed.says(/\/dev\/pts\/\d+/);
    return { typed, resize: (columns, rows) => resize(device, columns, rows) };
  }

  /** Ctrl-C. */
  async close(): Promise<number | null> {
    this.cli.child.kill("SIGINT");
    return this.cli.ended;
  }
}

export interface Terminal {
  readonly typed: Typed;
  /** As a person who drags the window's corner. */
  resize(columns: number, rows: number): Promise<void>;
}

async function resize(device: string, columns: number, rows: number): Promise<void> {
  await command("stty", ["-F", device, "cols", String(columns), "rows", String(rows)], {}, soon());
}

async function ended(typed: Typed): Promise<Said> {
  const code = await typed.ended;
  return { code, out: typed.out, error: typed.error };
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
