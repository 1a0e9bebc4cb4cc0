/** One parameter of an operation: its TypeScript type, its check and its error text come from the same line. */
export interface Field<T> {
  readonly required: boolean;
  readonly fallback?: T;
  /** Completes "<name> must be …". */
  readonly expects: string;
  readonly accepts: (value: unknown) => value is T;
}

export type RequiredField<T> = Field<T> & { readonly required: true };
type Optional<T> = Field<T> & { readonly required: false };
type WithDefault<T> = Optional<T> & { readonly fallback: T };

export type ParamsSpec = Readonly<
  Record<string, Field<never> | Field<string> | Field<number> | Field<boolean> | Field<readonly number[]>>
>;

type ValueOf<F> = F extends { readonly accepts: (value: unknown) => value is infer T } ? T : never;
type Always<S extends ParamsSpec> = {
  [K in keyof S]: S[K] extends { readonly required: true } | { readonly fallback: unknown } ? K : never;
}[keyof S];

/** The parsed params of a spec: required ones and ones with a default are always there. */
export type ParamsOf<S extends ParamsSpec> = { readonly [K in Always<S>]: ValueOf<S[K]> } & {
  readonly [K in Exclude<keyof S, Always<S>>]?: ValueOf<S[K]>;
};

export type Parsed<T> =
  | { readonly ok: true; readonly params: T }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Checks what the platform sent. Unknown keys are refused: a misspelt limit must not silently be none. */
export function parseParams<S extends ParamsSpec>(
  spec: S,
  input: Readonly<Record<string, unknown>>,
): Parsed<ParamsOf<S>> {
  const problems = Object.keys(input)
    .filter((name) => !Object.hasOwn(spec, name))
    .map((name) => `${name.slice(0, 64)} is not a parameter of this operation`);
  const params: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(spec)) {
    const value = Object.hasOwn(input, name) ? input[name] : undefined;
    if (value === undefined) {
      if (field.required) problems.push(`${name} is required`);
      else if ("fallback" in field) params[name] = field.fallback;
    } else if (field.accepts(value)) params[name] = value;
    else problems.push(`${name} must be ${field.expects}`);
  }
  // The loop above adds exactly the declared keys, each checked by its own guard.
  return problems.length > 0 ? { ok: false, problems } : { ok: true, params: params as ParamsOf<S> };
}

export function required<T>(field: Field<T>): RequiredField<T> {
  return { expects: field.expects, accepts: field.accepts, required: true };
}

export function withDefault<T>(field: Field<T>, fallback: T): WithDefault<T> {
  return { expects: field.expects, accepts: field.accepts, required: false, fallback };
}

export function text(maxLength: number, pattern: RegExp, expects: string): Optional<string> {
  const accepts = (value: unknown): value is string =>
    typeof value === "string" && value.length <= maxLength && pattern.test(value);
  return { required: false, expects, accepts };
}

export function integer(min: number, max: number): Optional<number> {
  const accepts = (value: unknown): value is number =>
    Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
  return { required: false, expects: `a whole number from ${min} to ${max}`, accepts };
}

export function oneOf<const Words extends readonly string[]>(words: Words): Optional<Words[number]> {
  const accepts = (value: unknown): value is Words[number] => typeof value === "string" && words.includes(value);
  return { required: false, expects: `one of ${words.join(", ")}`, accepts };
}

export const flag: Optional<boolean> = {
  required: false,
  expects: "true or false",
  accepts: (value): value is boolean => typeof value === "boolean",
};

/** RFC 1123 label: namespaces, containers. It holds no slash, so it is safe inside a path. */
export const label = text(63, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, "a lower-case name such as shop-1");

/** RFC 1123 subdomain: names of pods and workloads. */
export const objectName = text(253, /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, "the name of an object");

/** Letters, digits and the signs of selectors; the API server interprets it. */
export const labelSelector = text(512, /^[A-Za-z0-9_./=!,() -]+$/, "a label selector such as app=web,tier!=db");
