import type { TypeFields } from "../../../src/crds/released/fields/field-types.ts";
import { RELEASE_TYPES } from "../../../src/crds/released/fields/release-fields.ts";
import type { Schema } from "./openapi.ts";

/** A field of a kind, where the table has something against some values of it. */
export interface Place {
  /** `[]` after a field is the first of its list. */
  readonly path: readonly string[];
  /** Types of the table from the kind down; the last one has the field. */
  readonly types: readonly string[];
  readonly field: string;
  readonly schema: Schema;
}

type Schemas = Readonly<Record<string, Schema>>;

/** What the table and a published schema do not agree about. */
export interface Compared {
  readonly places: readonly Place[];
  readonly unknown: readonly string[];
  readonly odd: readonly string[];
  /** `PodSpec.hostname`: what the API server has. */
  readonly published: readonly string[];
}

/** Goes through a kind's published schema and the table side by side. */
export function compare(schemas: Schemas, kind: string, root: string): Compared {
  const places: Place[] = [];
  const unknown: string[] = [];
  const odd: string[] = [];
  const published: string[] = [];
  const walk = (schema: Schema, types: readonly string[], path: readonly string[]): void => {
    const type = types.at(-1) ?? "";
    const fields = RELEASE_TYPES[type];
    for (const [field, each] of Object.entries(schema.properties ?? {})) {
      published.push(`${type}.${field}`);
      const at = [...path, field];
      if (fields === undefined || !isKnown(fields, field)) {
        unknown.push(`${type}.${field}`);
        continue;
      }
      places.push({ path: at, types, field, schema: resolved(schemas, each) });
      const below = inner(schemas, each);
      const next = fields.of?.[field];
      const isWhole = [fields.refused, fields.ruled].some((list) => list?.includes(field)) || field === "status";
      const isNamed = field in (fields.shown ?? {});
      if (next !== undefined) {
        const [plain = ""] = next.split("@");
        if (below === undefined || !below.name.endsWith(`.${plain}`)) odd.push(`${type}.${field} is no ${next}`);
        else walk(below.schema, [...types, next], below.isList ? [...path, `${field}[]`] : at);
      } else if (below?.schema.properties !== undefined && !isWhole && !isNamed) {
        odd.push(`${type}.${field} has fields of its own`);
      }
    }
  };
  const found = Object.entries(schemas).find(([name]) => name === root);
  if (found === undefined) throw new Error(`no schema ${root}`);
  walk(found[1], [kind], []);
  return { places, unknown: [...new Set(unknown)], odd: [...new Set(odd)], published };
}

export function isKnown({ own, of, refused, ruled, mayUse, reads, shown }: TypeFields, field: string): boolean {
  return (
    [own, refused, ruled].some((list) => list?.includes(field)) ||
    [of, mayUse, reads, shown].some((map) => field in (map ?? {}))
  );
}

const PREFIX = "#/components/schemas/";

function refOf(schema: Schema): string | undefined {
  return (schema.$ref ?? schema.allOf?.[0]?.$ref)?.slice(PREFIX.length);
}

function resolved(schemas: Schemas, schema: Schema): Schema {
  const name = refOf(schema);
  return name === undefined ? schema : (schemas[name] ?? schema);
}

function inner(
  schemas: Schemas,
  schema: Schema,
): { readonly name: string; readonly schema: Schema; readonly isList: boolean } | undefined {
  const isList = schema.items !== undefined;
  const name = refOf(schema.items ?? schema);
  const found = name === undefined ? undefined : schemas[name];
  return name === undefined || found === undefined ? undefined : { name, schema: found, isList };
}
