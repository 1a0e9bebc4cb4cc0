/** Values a path segment or a query parameter may have. */
export type Scalar = string | number | boolean;
export type QueryValues = Readonly<Record<string, Scalar | readonly Scalar[] | undefined>>;

/**
 * The URL of one call. Path values are percent-encoded whole, so that an id with `/`, `?` or `#` stays one segment;
 * arrays become repeated parameters (§0.1); undefined is left out.
 *
 * @throws Error when the template names a value that was not given, or one that a URL parser would swallow.
 */
export function address(
  base: URL,
  template: string,
  params: Readonly<Record<string, Scalar>>,
  query: QueryValues,
): URL {
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => segment(template, name, params[name]));
  // Not `new URL(path, base)`: that drops the path of a base such as https://example.com/sallyport.
  const url = new URL(base.href.replace(/\/+$/, "") + path);
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const item of Array.isArray(value) ? value : [value]) url.searchParams.append(name, String(item));
  }
  return url;
}

function segment(template: string, name: string, value: Scalar | undefined): string {
  const text = value === undefined ? "" : String(value);
  // "." and ".." are removed from a path even when percent-encoded: the call would reach another route.
  if (text === "" || text === "." || text === "..") {
    throw new Error(`${template}: "${name}" must be a path segment, got "${text}"`);
  }
  return encodeURIComponent(text);
}
