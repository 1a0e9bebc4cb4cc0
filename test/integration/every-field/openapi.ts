import type { Json, JsonObject } from "./json.ts";
import { isObject } from "./json.ts";

/** The part of an OpenAPI v3 schema that the API server publishes for its kinds. */
export interface Schema {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly "x-kubernetes-group-version-kind"?: readonly {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  }[];
}

/** One field, and the object with another value in it. */
export interface Change {
  readonly path: readonly string[];
  readonly value: Json;
}

const PREFIX = "#/components/schemas/";
/** Values that pass the server's validation, by the name of the field or of the schema. */
const PLAUSIBLE: Readonly<Record<string, Json>> = {
  image: "probe:1",
  mountPath: "/probe",
  path: "/probe",
  topologyKey: "kubernetes.io/hostname",
  kind: "Pod",
  apiVersion: "v1",
  whenUnsatisfiable: "DoNotSchedule",
  maxSkew: 2,
  ip: "10.1.2.3",
  finalizers: ["example.com/probe"],
  deletionPolicy: "Delete",
  rollingUpdate: { maxUnavailable: 1 },
  operator: "Exists",
  effect: "NoSchedule",
  priorityClassName: "system-node-critical",
  priority: 1000,
  nodeName: "probe",
  overhead: { cpu: "1m" },
  os: { name: "linux" },
  whenDeleted: "Delete",
  whenScaled: "Delete",
  dnsConfig: { nameservers: ["10.1.2.3"] },
  readinessGates: [{ conditionType: "example.com/probe" }],
  schedulingGates: [{ name: "example.com/probe" }],
  activeDeadlineSeconds: 100,
};

/** Makes every change of one field that a kind's published schema allows. */
export class Schemas {
  readonly #all: Readonly<Record<string, Schema>>;

  constructor(document: unknown) {
    this.#all = (document as { readonly components: { readonly schemas: Record<string, Schema> } }).components.schemas;
  }

  ofKind(group: string, version: string, kind: string): Schema {
    const found = Object.values(this.#all).find((schema) =>
      schema["x-kubernetes-group-version-kind"]?.some(
        (each) => each.group === group && each.version === version && each.kind === kind,
      ),
    );
    if (found === undefined) throw new Error(`the API server publishes no schema of ${group}/${version} ${kind}`);
    return found;
  }

  /** Names of the fields at `path`. */
  fields(schema: Schema, path: readonly string[]): readonly string[] {
    const [first, ...rest] = path;
    const { properties = {} } = this.#resolved(schema);
    if (first === undefined) return Object.keys(properties);
    const next = properties[first];
    return next === undefined ? [] : this.fields(next, rest);
  }

  *changes(schema: Schema, value: Json | undefined, path: readonly string[] = []): Iterable<Change> {
    const { properties, items, additionalProperties } = this.#resolved(schema);
    const name = path.findLast((key) => !/^\d+$/.test(key)) ?? "";
    if (properties !== undefined) {
      const known = isObject(value);
      if (!known) yield { path, value: this.#sample(schema, name) };
      const base = known ? value : (this.#sample(schema, name) as JsonObject);
      for (const [key, each] of Object.entries(properties)) {
        const at = [...path, key];
        for (const change of this.changes(each, base[key], at)) {
          yield { path: change.path, value: { ...base, [key]: change.value } };
        }
        if (known && key in base) yield { path: at, value: without(base, key) };
      }
    } else if (items !== undefined) {
      const list = Array.isArray(value) ? value : [];
      const added = this.#sample(items, name);
      const plausible = list.length === 0 ? PLAUSIBLE[name] : undefined;
      yield { path, value: plausible ?? [...list, added] };
      if (list.length > 0) yield { path, value: list.slice(1) };
      const [first = added, ...rest] = list;
      for (const change of this.changes(items, first, [...path, "0"])) {
        yield { path: change.path, value: [change.value, ...rest] };
      }
    } else if (additionalProperties !== undefined) {
      const base = isObject(value) ? value : {};
      yield {
        path,
        value: isObject(value)
          ? { ...base, probe: this.#sample(additionalProperties, "") }
          : this.#sample(schema, name),
      };
      const [[key, old] = []] = Object.entries(base);
      if (key !== undefined) {
        yield { path: [...path, key], value: without(base, key) };
        for (const change of this.changes(additionalProperties, old, [...path, key])) {
          yield { path: change.path, value: { ...base, [key]: change.value } };
        }
      }
    } else yield { path, value: this.#other(schema, value, name) };
  }

  #resolved(schema: Schema): Schema {
    if (schema.$ref !== undefined) {
      const found = this.#all[schema.$ref.slice(PREFIX.length)];
      if (found === undefined) throw new Error(`no schema ${schema.$ref}`);
      return this.#resolved(found);
    }
    const [only] = schema.allOf ?? [];
    return only === undefined ? schema : this.#resolved(only);
  }

  #sample(schema: Schema, name: string): Json {
    const plausible = PLAUSIBLE[name];
    const { type, format, properties, items, additionalProperties, required = [], ...rest } = this.#resolved(schema);
    const isMap = properties !== undefined || additionalProperties !== undefined;
    const fits = Array.isArray(plausible) === (items !== undefined) && isObject(plausible) === isMap;
    if (plausible !== undefined && fits) return plausible;
    if (properties !== undefined) {
      return Object.fromEntries(required.map((key) => [key, this.#sample(properties[key] ?? {}, key)]));
    }
    if (items !== undefined) return [this.#sample(items, name)];
    if (additionalProperties !== undefined) return { probe: this.#sample(additionalProperties, name) };
    if (rest.enum?.[0] !== undefined) return rest.enum[0];
    if (type === "boolean") return true;
    if (type === "integer" || type === "number" || format === "int-or-string") return 1;
    if (rest.oneOf !== undefined) return "1";
    if (type === "object") return {};
    return format === "date-time" ? "2026-01-01T00:00:00Z" : "probe";
  }

  #other(schema: Schema, value: Json | undefined, name: string): Json {
    const { enum: words } = this.#resolved(schema);
    if (words !== undefined) return words.find((word) => word !== value) ?? "";
    if (typeof value === "boolean") return !value;
    if (typeof value === "number") return value + 1;
    const sample = this.#sample(schema, name);
    return sample === value ? `${String(value)}2` : sample;
  }
}

function without(object: JsonObject, key: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([each]) => each !== key));
}
