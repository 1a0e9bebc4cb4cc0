/** One file's entries, with the fields that are read here. Paths and data are as they are written. */
export interface KubeconfigFields {
  readonly clusters: readonly KubeconfigCluster[];
  readonly contexts: readonly KubeconfigContext[];
  readonly users: readonly KubeconfigUser[];
  readonly currentContext: string | undefined;
}

export interface KubeconfigCluster {
  readonly name: string;
  readonly server: string;
  readonly caData: string | undefined;
  readonly caFile: string | undefined;
  readonly skipTlsVerify: boolean;
  readonly tlsServerName: string | undefined;
  readonly proxyUrl: string | undefined;
  readonly disableCompression: boolean;
  /** The extension `client.authentication.k8s.io/exec`: for the program, of no shape that is known here. */
  readonly execConfig: unknown;
}

export interface KubeconfigContext {
  readonly name: string;
  readonly cluster: string;
  readonly user: string;
  readonly namespace: string | undefined;
}

export interface KubeconfigUser {
  readonly name: string;
  readonly certData: string | undefined;
  readonly certFile: string | undefined;
  readonly keyData: string | undefined;
  readonly keyFile: string | undefined;
  readonly token: string | undefined;
  readonly tokenFile: string | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly impersonate: Impersonation;
  readonly authProvider: { readonly name: string; readonly config: Readonly<Record<string, unknown>> } | undefined;
  readonly exec: ExecProgram | undefined;
}

/** Whom to act as. */
export interface Impersonation {
  readonly user: string | undefined;
  readonly uid: string | undefined;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export interface ExecProgram {
  readonly apiVersion: string | undefined;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly provideClusterInfo: boolean;
  readonly interactiveMode: string | undefined;
  readonly installHint: string | undefined;
}

const EXEC_EXTENSION = "client.authentication.k8s.io/exec";

/**
 * Reads what a YAML parser made of a file, as strictly as kubectl: a number where a text belongs is an error and no text.
 *
 * @throws Error that names the field
 */
export function kubeconfigFields(document: unknown): KubeconfigFields {
  const root = new Fields(document ?? {}, "");
  return {
    clusters: root.named("clusters", "cluster").map(clusterOf),
    contexts: root.named("contexts", "context").map(([name, context]) => ({
      name,
      cluster: context.text("cluster") ?? "",
      user: context.text("user") ?? "",
      namespace: context.text("namespace"),
    })),
    users: root.named("users", "user").map(userOf),
    currentContext: root.text("current-context"),
  };
}

function clusterOf([name, cluster]: NamedFields): KubeconfigCluster {
  const extensions = cluster.list("extensions", (each, at) => new Fields(each, at));
  return {
    name,
    server: cluster.text("server") ?? "",
    caData: cluster.text("certificate-authority-data"),
    caFile: cluster.text("certificate-authority"),
    skipTlsVerify: cluster.flag("insecure-skip-tls-verify"),
    tlsServerName: cluster.text("tls-server-name"),
    proxyUrl: cluster.text("proxy-url"),
    disableCompression: cluster.flag("disable-compression"),
    execConfig: extensions.find((each) => each.text("name") === EXEC_EXTENSION)?.value("extension"),
  };
}

function userOf([name, user]: NamedFields): KubeconfigUser {
  const provider = user.object("auth-provider");
  return {
    name,
    certData: user.text("client-certificate-data"),
    certFile: user.text("client-certificate"),
    keyData: user.text("client-key-data"),
    keyFile: user.text("client-key"),
    token: user.text("token"),
    tokenFile: user.text("tokenFile"),
    username: user.text("username"),
    password: user.text("password"),
    impersonate: {
      user: user.text("as"),
      uid: user.text("as-uid"),
      groups: user.texts("as-groups"),
      extra: user.object("as-user-extra")?.textLists() ?? {},
    },
    authProvider: provider && { name: provider.text("name") ?? "", config: provider.object("config")?.all() ?? {} },
    exec: execOf(user.object("exec")),
  };
}

function execOf(exec: Fields | undefined): ExecProgram | undefined {
  return (
    exec && {
      apiVersion: exec.text("apiVersion"),
      command: exec.text("command") ?? "",
      args: exec.texts("args"),
      env: exec.list("env", (each, at) => {
        const variable = new Fields(each, at);
        return { name: variable.text("name") ?? "", value: variable.text("value") ?? "" };
      }),
      provideClusterInfo: exec.flag("provideClusterInfo"),
      interactiveMode: exec.text("interactiveMode"),
      installHint: exec.text("installHint"),
    }
  );
}

type NamedFields = readonly [name: string, fields: Fields];

/** A mapping whose fields are asked for by type. `""` and `null` are absent, as in Go. */
class Fields {
  readonly #fields: Readonly<Record<string, unknown>>;
  readonly #path: string;

  constructor(value: unknown, path: string) {
    this.#fields = mappingOf(value, path === "" ? "it" : path);
    this.#path = path;
  }

  value(field: string): unknown {
    return this.#fields[field] ?? undefined;
  }

  all(): Readonly<Record<string, unknown>> {
    return this.#fields;
  }

  text(field: string): string | undefined {
    return textOf(this.value(field), this.#at(field)) || undefined;
  }

  flag(field: string): boolean {
    const value = this.value(field) ?? false;
    if (typeof value !== "boolean") throw new Error(`${this.#at(field)} is neither true nor false`);
    return value;
  }

  object(field: string): Fields | undefined {
    const value = this.value(field);
    return value === undefined ? undefined : new Fields(value, this.#at(field));
  }

  list<T>(field: string, item: (value: unknown, path: string) => T): readonly T[] {
    const value = this.value(field) ?? [];
    if (!Array.isArray(value)) throw new Error(`${this.#at(field)} is no list`);
    return value.map((each: unknown, index) => item(each, `${this.#at(field)}[${index}]`));
  }

  texts(field: string): readonly string[] {
    return this.list(field, (each, path) => textOf(each, path) ?? "");
  }

  textLists(): Readonly<Record<string, readonly string[]>> {
    return Object.fromEntries(Object.keys(this.#fields).map((key) => [key, this.texts(key)]));
  }

  /** Entries of a list of `{ name, [of]: {…} }`. A name that comes twice is a mistake: which of the two is meant? */
  named(list: string, of: string): readonly NamedFields[] {
    const names = new Set<string>();
    return this.list(list, (each, path) => {
      const entry = new Fields(each, path);
      const name = entry.text("name") ?? "";
      if (names.has(name)) throw new Error(`${path}.name is there twice: ${name}`);
      names.add(name);
      return [name, entry.object(of) ?? new Fields({}, `${path}.${of}`)] as const;
    });
  }

  #at(field: string): string {
    return this.#path === "" ? field : `${this.#path}.${field}`;
  }
}

function mappingOf(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error(`${path} is no mapping`);
  return value as Readonly<Record<string, unknown>>;
}

function textOf(value: unknown, path: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") throw new Error(`${path} is no text`);
  return value;
}
