import type { TObject, TSchema } from "typebox";
import { Compile } from "typebox/compile";

/** Texts that fit, between them, every pattern and format of the contract. Ids name objects that exist nowhere. */
const TEXTS: readonly string[] = [
  "sample-name",
  "a",
  "ab",
  "sample text",
  "2030-01-01T00:00:00.000Z",
  "https://example.com/",
  "https://join.example.com",
  `sha256//${"0".repeat(43)}=`,
  "somebody@example.com",
  "7",
  "SAMPLE",
  "sha256:".padEnd(71, "0"),
  "0".repeat(40),
  "0".repeat(43),
  "0".repeat(64),
  "kubernetes/scale",
  "accessgrants.sallyport.dev",
  `ws_${"0".repeat(24)}`,
  `winv_${"0".repeat(32)}`,
  `wil_${"0".repeat(40)}`,
  ...["apikey", "prj", "dg", "dep", "mgr", "rel", "pkg", "ar", "cmd", "event", "dbg", "duop", "usr"].map(
    (prefix) => `${prefix}_${"0".repeat(28)}`,
  ),
];

interface Form {
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly TSchema[];
  readonly allOf?: readonly TSchema[];
  readonly type?: string;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly minItems?: number;
  readonly minLength?: number;
  readonly items?: TSchema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, TSchema>>;
}

/**
 * The smallest value that fits a schema of the contract: required fields only.
 * @throws Error when it finds none, so that a new pattern gets its text above.
 */
export function sample(schema: TSchema): unknown {
  const value = build(schema as Form, schema);
  if (!Compile(schema).Check(value)) throw new Error(`no sample fits ${JSON.stringify(schema)}`);
  return value;
}

function build(form: Form, schema: TSchema): unknown {
  if (form.const !== undefined) return form.const;
  if (form.enum !== undefined) return form.enum[0];
  if (form.anyOf !== undefined) return sample(form.anyOf[0] ?? schema);
  switch (form.type) {
    case "string":
      return textFor(form, schema);
    case "integer":
    case "number":
      return form.minimum ?? (form.exclusiveMinimum ?? -1) + 1;
    case "boolean":
      return true;
    case "null":
      return null;
    case "array":
      return Array.from({ length: form.minItems ?? 0 }, () => (form.items === undefined ? null : sample(form.items)));
    case "object":
      return Object.fromEntries((form.required ?? []).map((name) => [name, sample(property(schema, name))]));
    default:
      return {};
  }
}

function textFor(form: Form, schema: TSchema): string {
  const fits = Compile(schema);
  const text = [...TEXTS, "x".repeat(form.minLength ?? 1)].find((each) => fits.Check(each));
  if (text === undefined) throw new Error(`no text fits ${JSON.stringify(schema)}`);
  return text;
}

function property(schema: TSchema, name: string): TSchema {
  const found = (schema as TObject).properties[name];
  if (found === undefined) throw new Error(`required property ${name} has no schema`);
  return found;
}

/** `/v1/x/{id}` with its parameters filled from their schemas, or from `given`. */
export function samplePath(
  route: { readonly path: string; readonly params?: TObject },
  given: Readonly<Record<string, string>> = {},
): string {
  return route.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const schema = route.params?.properties[name];
    return encodeURIComponent(given[name] ?? (schema === undefined ? "missing" : String(sample(schema))));
  });
}

/** Required query parameters, as text. */
export function sampleQuery(schema: TObject | undefined): Record<string, string> {
  if (schema === undefined) return {};
  const names = (schema as Form).required ?? [];
  return Object.fromEntries(names.map((name) => [name, String(sample(property(schema, name)))]));
}
