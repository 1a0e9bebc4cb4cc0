import type { SentField } from "../../../scripts/generate/egress/egress.ts";
import type { Route } from "../../../src/contract/wire/route.ts";
import type { HeardRequest } from "../agent/platform-gate.ts";

interface KnownRoute {
  readonly name: string;
  readonly method: string;
  readonly pattern: RegExp;
}

/** Routes by area and name, as a process's client is made of. */
export type RouteTable = Readonly<Record<string, Readonly<Record<string, Route>>>>;

function knownRoutes(tables: readonly RouteTable[]): readonly KnownRoute[] {
  return tables.flatMap(Object.entries<RouteTable[string]>).flatMap(([area, routes]) =>
    Object.entries(routes).map(([name, { method, path }]) => ({
      name: `${area}.${name}`,
      method,
      pattern: new RegExp(`^${path.replace(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`),
    })),
  );
}

/** Which fields and headers a number of requests carried, by route. */
export class CapturedFields {
  /** By `area.route`: every leaf that had a value, `[]` for places in a list. */
  readonly fields = new Map<string, Set<string>>();
  readonly headers = new Set<string>();
  /** Leaves of results, by id of the command. */
  readonly results = new Map<string, Set<string>>();
  /** Requests that match no route of the process. */
  readonly strangers: string[] = [];
  readonly #routes: readonly KnownRoute[];

  /** @param tables of the processes that are heard */
  constructor(...tables: readonly RouteTable[]) {
    this.#routes = knownRoutes(tables);
  }

  /** What was sent and stands nowhere on the page, as `area.route path`. */
  undocumented(page: ReadonlyMap<string, readonly SentField[]>): readonly string[] {
    return [...this.fields].flatMap(([route, seen]) =>
      [...seen]
        .filter((each) => !page.get(route)?.some(({ path, free }) => covers(path, each, free)))
        .map((each) => `${route} ${each}`),
    );
  }

  readonly add = ({ method, target, headers, body }: HeardRequest): void => {
    for (const name of Object.keys(headers)) this.headers.add(name);
    const [path = "", query = ""] = target.split("?", 2);
    const route = this.#routes.find((each) => each.method === method && each.pattern.test(path));
    if (route === undefined) {
      this.strangers.push(`${method} ${path}`);
      return;
    }
    const seen = this.fields.get(route.name) ?? new Set<string>();
    this.fields.set(route.name, seen);
    const params = route.pattern.exec(path)?.groups ?? {};
    for (const name of Object.keys(params)) seen.add(`path.${name}`);
    for (const name of new URLSearchParams(query).keys()) seen.add(`query.${name}`);
    if (body === "") return;
    const json: unknown = JSON.parse(body);
    for (const leaf of leavesOf(json, "body")) seen.add(leaf);
    if (route.name !== "commands.complete" || params.id === undefined) return;
    const { result } = json as { readonly result?: unknown };
    if (result !== undefined) this.results.set(params.id, new Set(leavesOf(result, "")));
  };
}

function leavesOf(value: unknown, path: string): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((each) => leavesOf(each, `${path}[]`));
  if (typeof value !== "object" || value === null) return [path];
  return Object.entries(value).flatMap(([name, each]) => leavesOf(each, path === "" ? name : `${path}.${name}`));
}

/** Whether the leaf `seen` is the documented `path`, or lies in it. `.*` stands for any key. */
export function covers(path: string, seen: string, free: boolean): boolean {
  const text = path.replaceAll(/[.[\]]/g, String.raw`\$&`).replaceAll(String.raw`\.*`, String.raw`\..+`);
  // A parameter that may be given several times looks like one that may be given once.
  const shape = path.startsWith("query.") ? text.replace(/\\\[\\\]$/, "") : text;
  return new RegExp(`^${shape}${free ? "([.[].*)?" : ""}$`).test(seen);
}
