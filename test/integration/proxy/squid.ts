import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../../lab/cluster/ports.ts";
import { packageProblem } from "../../../lab/debian-package.ts";
import { eventually } from "../../world/wait.ts";

const HELPER = "/usr/lib/squid/basic_ncsa_auth";

/** Why Debian's squid is not here; as root it is installed. Undefined: it is here. */
export function squidProblem(): string | undefined {
  return packageProblem("squid", () => {
    execFileSync("squid", ["-v"], { stdio: "ignore" });
    execFileSync("test", ["-x", HELPER]);
  });
}

/** A real squid that accepts only this user and password. */
export class Squid {
  readonly address: string;
  readonly port: number;
  readonly #folder: string;
  #process: ChildProcess | undefined;

  private constructor(folder: string, address: string, port: number) {
    this.#folder = folder;
    this.address = address;
    this.port = port;
  }

  /** @param address of this machine on which it listens */
  static async make(user: string, password: string, address = "127.0.0.1"): Promise<Squid> {
    const folder = await mkdtemp(join(tmpdir(), "sallyport-squid-"));
    // A squid that root starts runs as another user.
    await chmod(folder, 0o777);
    const squid = new Squid(folder, address, await freePort());
    const hash = execFileSync("openssl", ["passwd", "-apr1", password], { encoding: "utf8" }).trim();
    await writeFile(join(folder, "users"), `${user}:${hash}\n`);
    await writeFile(join(folder, "squid.conf"), configuration(folder, `${address}:${squid.port}`));
    return squid;
  }

  async start(): Promise<void> {
    this.#process = spawn("squid", ["-N", "-f", join(this.#folder, "squid.conf")], { stdio: "ignore" });
    await eventually(
      () => accepts(this.address, this.port),
      (isOpen) => isOpen,
    );
  }

  async stop(): Promise<void> {
    const running = this.#process;
    if (running === undefined || running.exitCode !== null) return;
    const ended = new Promise((resolve) => running.once("exit", resolve));
    running.kill("SIGKILL");
    await ended;
  }

  /**
   * One line for each tunnel: `TCP_TUNNEL/200 CONNECT host:port user`, or `TCP_DENIED/407 …`. squid writes it when the
   * tunnel ends.
   */
  async log(): Promise<readonly string[]> {
    const text = await readFile(join(this.#folder, "access.log"), "utf8").catch(() => "");
    return text.split("\n").filter((line) => line !== "");
  }

  async close(): Promise<void> {
    await this.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function configuration(folder: string, listener: string): string {
  return `http_port ${listener}
auth_param basic program ${HELPER} ${folder}/users
auth_param basic realm test
acl known proxy_auth REQUIRED
http_access allow known
http_access deny all
logformat short %Ss/%>Hs %rm %ru %un
access_log stdio:${folder}/access.log short
cache_log ${folder}/cache.log
cache deny all
pid_filename none
shutdown_lifetime 0 seconds
`;
}

function accepts(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
