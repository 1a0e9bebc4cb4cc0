import type { Static, TObject, TSchema } from "typebox";
import { GROUP, VERSION } from "../group.ts";
import type { Frozen, Rule } from "../schema.ts";

export interface PrinterColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "date";
  readonly jsonPath: string;
  /** 1: only with `-o wide`. */
  readonly priority?: 1;
}

/** One kind, from which its type, its CRD and its printer columns are made. */
export interface Kind<Spec extends TObject = TObject, Status extends TObject = TObject> {
  readonly kind: string;
  readonly plural: string;
  readonly shortName: string;
  readonly description: string;
  /** On the CRD itself. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec: Spec;
  /** Absent: the kind is configuration and has no status. */
  readonly status?: Status;
  readonly columns: readonly PrinterColumn[];
  readonly selectableFields?: readonly string[];
  /** Rules over spec and status together; a rule on an optional field is skipped when the field comes or goes. */
  readonly rules?: readonly Rule[];
}

export interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** An object of kind `K` as the API server returns it. */
export type ObjectOf<K extends Kind> = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Metadata;
  readonly spec: Frozen<Static<K["spec"]>>;
} & (K extends { readonly status: infer Status extends TObject }
  ? { readonly status?: Frozen<Static<Status>> }
  : unknown);

/** Where the API server serves a kind; structurally a `Resource` of the Kubernetes runtime. */
export interface KindResource {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: true;
}

export function resourceOf({ kind, plural }: Kind): KindResource {
  return { group: GROUP, version: VERSION, kind, plural, namespaced: true };
}

/** The CustomResourceDefinition, ready to be applied. */
export function customResourceDefinition(kind: Kind): Readonly<Record<string, unknown>> {
  const singular = kind.kind.toLowerCase();
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${kind.plural}.${GROUP}`, ...(kind.labels && { labels: kind.labels }) },
    spec: {
      group: GROUP,
      scope: "Namespaced",
      names: {
        plural: kind.plural,
        singular,
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        shortNames: [kind.shortName],
        categories: ["sallyport"],
      },
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          ...(kind.status && { subresources: { status: {} } }),
          ...(kind.selectableFields && { selectableFields: kind.selectableFields.map((jsonPath) => ({ jsonPath })) }),
          additionalPrinterColumns: kind.columns,
          schema: {
            openAPIV3Schema: {
              type: "object",
              description: kind.description,
              required: ["spec"],
              properties: { spec: structural(kind.spec), ...(kind.status && { status: structural(kind.status) }) },
              ...(kind.rules && { "x-kubernetes-validations": kind.rules }),
            },
          },
        },
      ],
    },
  };
}

/** TypeBox keeps its marks in hidden properties, so a copy through JSON is the structural schema. */
function structural(schema: TSchema): unknown {
  return JSON.parse(JSON.stringify(schema));
}
