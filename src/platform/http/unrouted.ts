import { META_PATHS } from "../../contract/openapi/openapi-components.ts";
import type { Method, Route } from "../../contract/wire/route.ts";
import { PlatformError } from "../kernel/errors.ts";

type Line = Pick<Route, "method" | "path">;

/** Of /livez and /readyz. */
export const PROBE_METHODS = ["GET", "HEAD"] as const;
const PROBES: readonly string[] = ["/livez", "/readyz"];

/** Answers requests that no route takes, from the route table. */
export class Unrouted {
  readonly #methods: ReadonlyMap<string, readonly Method[]>;

  constructor(lines: readonly Line[]) {
    const beside = Object.entries(META_PATHS).flatMap(([path, item]) =>
      Object.keys(item).map((method): Line => ({ method: method === "post" ? "POST" : "GET", path })),
    );
    const byPath = Map.groupBy([...lines, ...beside], ({ path }) => path);
    this.#methods = new Map([...byPath].map(([path, all]) => [path, [...new Set(all.map(({ method }) => method))]]));
  }

  /** The error for a request's path: 405 with the methods that the path has, or 404. */
  error(path: string): PlatformError {
    const segments = path.split("/");
    const [best] = [...this.#methods].filter(([template]) => fits(template, segments)).sort(byLiterals);
    if (best === undefined) return new PlatformError("ROUTE_NOT_FOUND");
    const [template, methods] = best;
    const allowed = PROBES.includes(template) ? PROBE_METHODS : methods;
    return new PlatformError("METHOD_NOT_ALLOWED", { headers: { allow: allowed.join(", ") } });
  }

  /**
   * The methods that a literal path lacks and a matching template has. Without these lines the router would take `PATCH
   * …/by-name` for `PATCH …/{id}`, but a path that the table names must never match a template.
   */
  shadowed(): readonly Line[] {
    return [...this.#methods].flatMap(([path, own]) => {
      const segments = path.split("/");
      const others = [...this.#methods].filter(([template]) => template !== path && fits(template, segments));
      const missing = new Set(others.flatMap(([, methods]) => methods).filter((method) => !own.includes(method)));
      return [...missing].map((method) => ({ method, path }));
    });
  }
}

/** A parameter of a template takes any segment that is not empty, also the literal of another template. */
function fits(template: string, segments: readonly string[]): boolean {
  const own = template.split("/");
  return own.length === segments.length && own.every((each, i) => each === segments[i] || takes(each, segments[i]));
}

function takes(own: string, segment: string | undefined): boolean {
  return own.startsWith("{") && segment !== "" && segment?.startsWith("{") !== true;
}

/** Orders like routers: at the first difference from the left, a literal comes before a parameter. */
function byLiterals([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  const parameters = (path: string): string =>
    path
      .split("/")
      .map((each) => (each.startsWith("{") ? "1" : "0"))
      .join("");
  return parameters(a) < parameters(b) ? -1 : 1;
}
