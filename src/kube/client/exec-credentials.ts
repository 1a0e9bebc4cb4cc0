import type { RequestOptions } from "node:https";
import type { User } from "@kubernetes/client-node";
import type { Clock } from "../../base/clock.ts";
import type { Credentials, TlsOptions } from "./credentials.ts";

/** Longest that an exec plugin may take: a person may have to log in, and a process must not start for ever. */
const CREDENTIAL_LIMIT_MS = 60_000;

type ExecAuth = InstanceType<typeof import("@kubernetes/client-node/dist/exec_auth.js")["ExecAuth"]>;

/**
 * What a program prints that a kubeconfig names, through the part of `@kubernetes/client-node` for it: loaded only then. It keeps an
 * answer until that expires. After a 401 the program is asked again.
 */
export class ExecCredentials implements Credentials {
  /** The client certificate that the program gave first; one that it gives later is not taken. */
  readonly tls: Pick<TlsOptions, "cert" | "key">;
  readonly #user: User;
  readonly #clock: Clock;
  readonly #make: () => ExecAuth;
  #auth: ExecAuth;

  private constructor(user: User, clock: Clock, make: () => ExecAuth, auth: ExecAuth, tls: ExecCredentials["tls"]) {
    this.#user = user;
    this.#clock = clock;
    this.#make = make;
    this.#auth = auth;
    this.tls = tls;
  }

  /** @throws Error with the program's words when it gives nothing */
  static async open(
    user: User,
    cluster: { readonly server: string; readonly caData?: string },
    clock: Clock,
  ): Promise<ExecCredentials> {
    const { ExecAuth } = await import("@kubernetes/client-node/dist/exec_auth.js");
    const asked = { ...user, exec: { ...user.exec, env: [...(user.exec.env ?? []), execInfo(user.exec, cluster)] } };
    const make = (): ExecAuth => new ExecAuth();
    const auth = make();
    const { cert, key } = await optionsOf(auth, asked, clock);
    const tls = { ...(typeof cert === "string" && { cert }), ...(typeof key === "string" && { key }) };
    return new ExecCredentials(asked, clock, make, auth, tls);
  }

  async authorization(): Promise<string | undefined> {
    const { headers } = await optionsOf(this.#auth, this.#user, this.#clock);
    return (headers as Readonly<Record<string, string>>).Authorization;
  }

  invalidate(): void {
    this.#auth = this.#make();
  }
}

/** What kubectl tells the program of the cluster. client-node does not, and some programs refuse to run without. */
function execInfo(
  exec: { readonly apiVersion?: string; readonly provideClusterInfo?: boolean },
  { server, caData }: { readonly server: string; readonly caData?: string },
) {
  const cluster = { server, ...(caData !== undefined && { "certificate-authority-data": caData }) };
  const spec = { interactive: false, ...(exec.provideClusterInfo === true && { cluster }) };
  const value = JSON.stringify({ apiVersion: exec.apiVersion, kind: "ExecCredential", spec });
  return { name: "KUBERNETES_EXEC_INFO", value };
}

async function optionsOf(auth: ExecAuth, user: User, clock: Clock): Promise<RequestOptions> {
  const options: RequestOptions = { headers: {} };
  try {
    await inTime(auth.applyAuthentication(user, options), clock);
    return options;
  } catch (cause) {
    const fails = (reason: string): string => `its program ${user.exec.command} fails (${reason}); run it by hand`;
    if (cause instanceof SyntaxError || cause instanceof TypeError) {
      // biome-ignore lint/style/useErrorCause: a parser's words quote the output, which may hold a token.
      throw new Error(fails("it prints no ExecCredential"));
    }
    throw new Error(fails(cause instanceof Error ? cause.message.trim() : String(cause)), { cause });
  }
}

/** The program is client-node's and goes on; what waits for it does not. */
function inTime(work: Promise<void>, clock: Clock): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const seconds = CREDENTIAL_LIMIT_MS / 1_000;
  const cancel = clock.after(CREDENTIAL_LIMIT_MS, () => reject(new Error(`no answer within ${seconds} s`)));
  work.then(resolve, reject).finally(cancel);
  return promise;
}
