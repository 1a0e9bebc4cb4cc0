import { kebab } from "../../contract/wire/kebab.ts";
import type { Route, RouteTable } from "../../contract/wire/route.ts";

/** The parts of JSON Schema that decide how a value is written on a command line. */
export interface ValueSchema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly items?: ValueSchema;
  readonly anyOf?: readonly ValueSchema[];
  readonly properties?: Readonly<Record<string, ValueSchema>>;
  readonly required?: readonly string[];
}

/** One value that a call takes, and where it goes. */
export interface Flag {
  /** `deployment-id`; ids may also be written without their `-id`. */
  readonly name: string;
  readonly property: string;
  readonly places: readonly ("query" | "body")[];
  readonly schema: ValueSchema;
  readonly required: boolean;
}

/** One call of the API as words: `operations policy get`. */
export interface Verb {
  readonly area: string;
  readonly route: Route;
  /** The route's name in the table. */
  readonly name: string;
  /** `get-policy`; `policy get` and, for `put`, `policy set` mean the same. */
  readonly words: string;
  readonly aliases: readonly string[];
  /** Path parameters, in the order of the path. */
  readonly positionals: readonly string[];
  /** The first positional is a workspace's id and may be left out: then the credential's own workspace is meant. */
  readonly inWorkspace: boolean;
  readonly flags: readonly Flag[];
}

export interface Area {
  /** As in the paths of the API: `access-requests`. */
  readonly name: string;
  readonly aliases: readonly string[];
  readonly verbs: readonly Verb[];
}

/** Short names of the areas that people type often. */
const SHORT: Readonly<Record<string, readonly string[]>> = {
  "access-requests": ["access"],
  "api-keys": ["keys"],
  "debug-sessions": ["debug"],
  "deployment-groups": ["groups"],
  machines: ["machine"],
  "release-channels": ["channels"],
  releases: ["release"],
};

/** Every call that a person may make, from the table: a new area gets its commands without code here. */
export function areasOf(table: Readonly<Record<string, RouteTable>>): readonly Area[] {
  return Object.entries(table).flatMap(([area, routes]) => areaOf(area, routes) ?? []);
}

/** @returns undefined for an area that has no call for people */
export function areaOf(area: string, routes: RouteTable): Area | undefined {
  const verbs = Object.entries(routes)
    .filter(([, route]) => isForPeople(route))
    .map(([routeName, route]) => verbOf(area, routeName, route));
  return verbs.length === 0 ? undefined : { ...namesOf(area), verbs };
}

/** As in the paths of the API, and short. */
export function namesOf(area: string): Pick<Area, "name" | "aliases"> {
  const name = kebab(area);
  return { name, aliases: SHORT[name] ?? [] };
}

/** Routes for a manager's, a setup or a relay's credential alone are no commands, and no long-poll is one. */
function isForPeople({ roles, longPoll }: Route): boolean {
  if (longPoll === true || roles === "ticket" || roles === "setup-token") return false;
  return typeof roles === "string" || roles.some((role) => role !== "manager.runtime");
}

/** A route `getPolicy` is also `policy get`. `uploadUrl` does not begin with one of these verbs, so it is not split. */
const VERBS = new Set(["list", "get", "create", "put", "set", "patch", "enable", "register", "delete", "remove"]);

function verbOf(area: string, name: string, route: Route): Verb {
  const [verb = "", ...noun] = kebab(name).split("-");
  const about = noun.join("-");
  const aliases =
    about === "" || !VERBS.has(verb) ? [] : [`${about} ${verb}`, ...(verb === "put" ? [`${about} set`] : [])];
  const positionals = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter ?? "");
  const inWorkspace = route.workspace === "path";
  return { area, route, name, words: kebab(name), aliases, positionals, inWorkspace, flags: flagsOf(route) };
}

function flagsOf(route: Route): readonly Flag[] {
  const flags = new Map<string, Flag>();
  const add = (place: "query" | "body", schema: ValueSchema | undefined): void => {
    for (const [property, value] of Object.entries(schema?.properties ?? {})) {
      const before = flags.get(property);
      const required = (before?.required ?? false) || (schema?.required ?? []).includes(property);
      const places = [...(before?.places ?? []), place];
      flags.set(property, { name: kebab(property), property, places, schema: plainest(value), required });
    }
  };
  add("query", route.query as ValueSchema | undefined);
  add("body", route.body as ValueSchema | undefined);
  return [...flags.values()];
}

/** `X | null` is written as X; null is the word `null`. */
function plainest(schema: ValueSchema): ValueSchema {
  const others = schema.anyOf?.filter(({ type }) => type !== "null") ?? [];
  const [only] = others;
  if (only === undefined || others.length !== 1) return schema;
  const { description } = schema;
  return { ...plainest(only), ...(description !== undefined && { description }) };
}
