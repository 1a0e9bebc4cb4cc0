import { META_PATHS } from "../../contract/openapi/openapi-components.ts";
import type { Method, Route } from "../../contract/wire/route.ts";
import { PlatformError } from "../kernel/errors.ts";

type Line = Pick<Route, "method" | "path">;

/** What the table says about requests that no route takes. */
export class Unrouted {
  readonly #methods: ReadonlyMap<string, readonly Method[]>;

  constructor(lines: readonly Line[]) {
    const beside = Object.entries(META_PATHS).flatMap(([path, item]) =>
      Object.keys(item).map((method): Line => ({ method: method === "post" ? "POST" : "GET", path })),
    );
    const byPath = Map.groupBy([...lines, ...beside], ({ path }) => path);
    this.#methods = new Map([...byPath].map(([path, all]) => [path, [...new Set(all.map(({ method }) => method))]]));
  }

  /** For a request's path: 405 with the methods that it has, or 404. */
  error(path: string): PlatformError {
    const segments = path.split("/");
    const [best] = [...this.#methods].filter(([template]) => fits(template, segments)).sort(byLiterals);
    if (best === undefined) return new PlatformError("ROUTE_NOT_FOUND");
    return new PlatformError("METHOD_NOT_ALLOWED", { headers: { allow: best[1].join(", ") } });
  }

  /**
   * Methods that a path lacks and a template beside it has: the router would take `PATCH …/by-name` for `PATCH …/{id}`,
   * while a path that the table names is only ever itself.
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

/** A template's parameter takes any segment that is there, a literal one of another template too. */
function fits(template: string, segments: readonly string[]): boolean {
  const own = template.split("/");
  return own.length === segments.length && own.every((each, i) => each === segments[i] || takes(each, segments[i]));
}

function takes(own: string, segment: string | undefined): boolean {
  return own.startsWith("{") && segment !== "" && segment?.startsWith("{") !== true;
}

/** As routers choose: the template with a literal where the other has a parameter, from the left. */
function byLiterals([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  const parameters = (path: string): string =>
    path
      .split("/")
      .map((each) => (each.startsWith("{") ? "1" : "0"))
      .join("");
  return parameters(a) < parameters(b) ? -1 : 1;
}
