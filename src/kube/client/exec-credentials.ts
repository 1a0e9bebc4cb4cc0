import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import type { Clock } from "../../base/clock.ts";
import { isInstant } from "../../base/instant.ts";
import { isRecord } from "../../base/is-record.ts";
import { clamped } from "../../base/peer-numbers.ts";
import type { Credentials, TlsOptions } from "./credentials.ts";
import type { ExecProgram } from "./kubeconfig-fields.ts";
import type { Environment } from "./proxy.ts";

/** Longest that an exec plugin may take: a person may have to log in, and a process must not start for ever. */
const CREDENTIAL_LIMIT_MS = 60_000;

const API_VERSIONS = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];
const MODES = ["Never", "IfAvailable", "Always"];

/** What the program is given of the cluster when it asks for that, by the names of `ExecCredential`. */
export interface ExecCluster {
  readonly server: string;
  readonly "tls-server-name"?: string;
  readonly "insecure-skip-tls-verify"?: boolean;
  readonly "certificate-authority-data"?: string;
  readonly "proxy-url"?: string;
  readonly "disable-compression"?: boolean;
  readonly config?: unknown;
}

export interface ExecOptions {
  readonly program: ExecProgram;
  readonly cluster: ExecCluster;
  readonly clock: Clock;
  readonly place: { readonly environment: Environment; readonly isTerminal: boolean };
}

interface Answer {
  readonly authorization: string | undefined;
  readonly tls: Pick<TlsOptions, "cert" | "key">;
  /** By the monotonic clock; undefined: until a 401. */
  readonly untilMs: number | undefined;
}

/** What a program prints that a kubeconfig names, kept until it expires. After a 401 the program is asked again. */
export class ExecCredentials implements Credentials {
  readonly #options: ExecOptions;
  #answer: Answer | undefined;
  #asking: Promise<Answer> | undefined;

  /** @throws Error when kubectl would not run the program either */
  constructor(options: ExecOptions) {
    this.#options = options;
    const problem = problemOf(options);
    if (problem !== undefined) throw new Error(problem);
  }

  async authorization(): Promise<string | undefined> {
    return (await this.#current()).authorization;
  }

  async tls(): Promise<Pick<TlsOptions, "cert" | "key">> {
    return (await this.#current()).tls;
  }

  invalidate(): void {
    this.#answer = undefined;
  }

  async #current(): Promise<Answer> {
    const { untilMs } = this.#answer ?? {};
    if (untilMs !== undefined && this.#options.clock.monotonicMs() >= untilMs) this.#answer = undefined;
    // One program at a time, whose answer all who wait get: it may open a browser.
    this.#asking ??= this.#answer === undefined ? this.#ask().finally(() => (this.#asking = undefined)) : undefined;
    return this.#answer ?? (await (this.#asking as Promise<Answer>));
  }

  async #ask(): Promise<Answer> {
    const { program } = this.#options;
    try {
      this.#answer = answerOf(await printed(this.#options), program, this.#options.clock);
      return this.#answer;
    } catch (cause) {
      const { message, code } = cause as NodeJS.ErrnoException;
      const hint = code === "ENOENT" && program.installHint !== undefined ? `; ${printable(program.installHint)}` : "";
      throw new Error(`its program ${program.command} fails (${message.trim()}); run it by hand${hint}`, { cause });
    }
  }
}

function problemOf({ program, place: { isTerminal } }: ExecOptions): string | undefined {
  const { command, apiVersion = "", interactiveMode, env } = program;
  if (command === "") return "its exec names no command";
  const named = `its program ${command}`;
  if (!API_VERSIONS.includes(apiVersion)) {
    return `${named} has apiVersion ${printable(apiVersion) || "none"}, which must be ${API_VERSIONS.join(" or ")}`;
  }
  if (env.some(({ name }) => name === "")) return `${named} has a variable in env without a name`;
  // Only the older version has a default.
  const mode = interactiveMode ?? (apiVersion === API_VERSIONS[1] ? "IfAvailable" : "");
  if (!MODES.includes(mode)) return `${named} has no interactiveMode, which must be ${MODES.join(", ")}`;
  if (mode === "Always" && !isTerminal) {
    return `${named} asks a person (interactiveMode Always), and standard input is no terminal`;
  }
  return undefined;
}

/** The program's standard output. With a person there, its standard error is that person's, else part of our error. */
async function printed({ program, cluster, clock, place }: ExecOptions): Promise<string> {
  const interactive = place.isTerminal && program.interactiveMode !== "Never";
  const spec = { interactive, ...(program.provideClusterInfo && { cluster }) };
  const info = JSON.stringify({ kind: "ExecCredential", apiVersion: program.apiVersion, spec });
  const variables = program.env.map(({ name, value }) => [name, value]);
  const child = spawn(program.command, program.args, {
    env: { ...place.environment, ...Object.fromEntries(variables), KUBERNETES_EXEC_INFO: info },
    stdio: [interactive ? "inherit" : "ignore", "pipe", interactive ? "inherit" : "pipe"],
  });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const cancel = clock.after(CREDENTIAL_LIMIT_MS, () => {
    // One that does not hear would keep its output, and this process with it.
    child.kill("SIGKILL");
    child.stdout?.destroy();
    reject(new Error(`no answer within ${CREDENTIAL_LIMIT_MS / 1_000} s`));
  });
  const words = child.stderr === null ? "" : text(child.stderr);
  const output = child.stdout === null ? "" : text(child.stdout);
  for (const each of [words, output]) Promise.resolve(each).catch(() => undefined);
  child.on("error", reject);
  child.on("close", (code, signal) => {
    const ended = async (): Promise<string> => {
      if (code === 0) return output;
      const said = printable((await words).slice(-MOST_WORDS)).trim();
      throw new Error(said === "" ? `it ended with ${code ?? signal}` : said);
    };
    ended().then(resolve, reject);
  });
  try {
    return await promise;
  } finally {
    cancel();
  }
}

const MOST_WORDS = 2_000;

/** @throws Error without a word of the output, which may hold a token */
function answerOf(output: string, { apiVersion }: ExecProgram, clock: Clock): Answer {
  const credential = recordOf(output);
  if (credential?.kind !== "ExecCredential") throw new Error("it prints no ExecCredential");
  if (credential.apiVersion !== apiVersion) throw new Error(`it prints no ExecCredential of ${apiVersion}`);
  const status = isRecord(credential.status) ? credential.status : {};
  const [token, cert, key, until] = ["token", "clientCertificateData", "clientKeyData", "expirationTimestamp"].map(
    (field) => textIn(status, field),
  );
  if ((cert === undefined) !== (key === undefined)) throw new Error("it prints a certificate or a key, and not both");
  if (token === undefined && cert === undefined) throw new Error("it prints neither a token nor a certificate");
  if (until !== undefined && !isInstant(until)) throw new Error("it prints an expirationTimestamp that is no time");
  const lifeMs =
    until === undefined ? undefined : clamped("credentialLifeMs", Date.parse(until) - clock.wallNow().getTime());
  return {
    authorization: token === undefined ? undefined : `Bearer ${token}`,
    tls: cert === undefined || key === undefined ? {} : { cert, key },
    untilMs: lifeMs === undefined ? undefined : clock.monotonicMs() + lifeMs,
  };
}

function recordOf(output: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = JSON.parse(output);
    return isRecord(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function textIn(status: Readonly<Record<string, unknown>>, field: string): string | undefined {
  const value = status[field] ?? "";
  if (typeof value !== "string") throw new Error(`it prints a ${field} that is no text`);
  return value === "" ? undefined : value;
}

/** Words of a file or a program, without what moves a terminal's cursor. */
function printable(words: string): string {
  return words.replaceAll(/[^\P{C}\n\t]/gu, "?");
}
