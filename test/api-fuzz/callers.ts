import { ROUTES } from "../../src/contract/table.ts";
import type { Route } from "../../src/contract/wire/route.ts";

/** Who calls: a role's key, or a user's access token. The caller with the most operations comes first. */
const WHO = ["workspace.admin", "manager.runtime", "user", "project.developer", "deployment-group.deployer"] as const;
export type Who = (typeof WHO)[number];

export interface Caller {
  readonly who: Who;
  /** Operation ids, `area.name`. */
  readonly operations: readonly string[];
  /** The operations of which schemathesis takes every parameter to its edges. */
  readonly edges: readonly string[];
}

const ALL: readonly (readonly [string, Route])[] = Object.entries(ROUTES).flatMap(([area, routes]) =>
  Object.entries(routes).map(([name, route]) => [`${area}.${name}`, route] as const),
);
const META = ["meta.openapi", "meta.livez", "meta.readyz"];

/**
 * The operations are divided into so many parts; a run takes one of them to its edges. All of them are some 25,000
 * requests, most of which vary one field of a few large bodies. In the same time, every caller on every operation finds
 * more.
 */
const PARTS = 6;

/**
 * Each caller calls every operation that it may call. The first caller of an operation also takes every parameter to
 * its edges, for the sixth of the operations that the seed chooses.
 *
 * @param all the edges of all operations: six times the requests, to run before a release.
 */
export function callersOf({ seed, all }: { readonly seed: number; readonly all: boolean }): readonly Caller[] {
  const taken = new Set<string>();
  const isDue = (_: string, index: number): boolean => all || (index + seed) % PARTS === 0;
  return WHO.map((who) => {
    const theirs = ALL.filter(([, route]) => mayCall(route, who)).map(([id]) => id);
    // The platform refuses these to every caller, always with the same answer: one caller tries them.
    const nobodys = who === WHO.at(-1) ? ALL.map(([id]) => id).filter((id) => !taken.has(id)) : [];
    const operations = [...new Set([...theirs, ...(who === WHO[0] ? META : []), ...nobodys])];
    const edges = operations.filter((id) => !taken.has(id)).filter(isDue);
    for (const id of operations) taken.add(id);
    return { who, operations, edges };
  });
}

function mayCall({ roles, workspace }: Route, who: Who): boolean {
  // The user calls only operations that need no named workspace. A key may not call them, or would change the objects
  // that it depends on.
  if (who === "user" || workspace !== undefined) return who === "user" && workspace !== undefined;
  if (typeof roles === "string") return roles === "any" || roles === "public";
  return roles.includes(who);
}
