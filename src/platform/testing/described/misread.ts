import type { Validator } from "typebox/compile";
import { Compile } from "typebox/compile";
import { DESCRIBED } from "./routes.ts";

interface Described {
  readonly method: string;
  readonly path: RegExp;
  /** Segments that are no parameter: of two routes that fit, the one with more of them is meant. */
  readonly words: number;
  readonly name: string;
}

const ROUTES: readonly Described[] = Object.keys(DESCRIBED).map((name) => {
  const [method = "", path = ""] = name.split(" ");
  const form = path.replaceAll(/\{\w+\}/g, "[^/]+");
  return {
    method,
    path: new RegExp(`^${form}$`),
    words: path.split("/").filter((each) => !each.startsWith("{")).length,
    name,
  };
});
const compiled = new Map<string, Validator>();

/**
 * What of a success a client could not read that knows the described API alone, and takes each field that it lists as
 * given; empty for all else.
 */
export function misread(method: string, path: string, status: number, body: unknown): readonly string[] {
  if (status >= 300 || body === undefined) return [];
  const [pathname = ""] = path.split("?");
  const found = ROUTES.filter((each) => each.method === method && each.path.test(pathname)).toSorted(
    (a, b) => b.words - a.words,
  )[0];
  if (found === undefined) return [];
  const schema = DESCRIBED[found.name];
  if (schema === undefined) return [];
  const check = compiled.get(found.name) ?? Compile(schema);
  compiled.set(found.name, check);
  if (check.Check(body)) return [];
  return check
    .Errors(body)
    .slice(0, 5)
    .map(({ instancePath, message }) => `${found.name} ${instancePath} ${message}`);
}
