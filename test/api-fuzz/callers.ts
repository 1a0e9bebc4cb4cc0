import { ROUTES } from "../../src/contract/table.ts";
import type { Route } from "../../src/contract/wire/route.ts";

/** Who calls: a role's key, or a user's access token. Whoever has the most to do comes first. */
export const WHO = [
  "workspace.admin",
  "manager.runtime",
  "user",
  "project.developer",
  "deployment-group.deployer",
] as const;
export type Who = (typeof WHO)[number];

export interface Caller {
  readonly who: Who;
  /** Operation ids, `area.name`. */
  readonly operations: readonly string[];
  /** Those whose every parameter is taken to its edges. */
  readonly edges: readonly string[];
}

const ALL: readonly (readonly [string, Route])[] = Object.entries(ROUTES).flatMap(([area, routes]) =>
  Object.entries(routes).map(([name, route]) => [`${area}.${name}`, route] as const),
);
const META = ["meta.openapi", "meta.livez", "meta.readyz"];

/**
 * In how many parts the operations are taken for their edges; a run takes one of them. All of them are some 25,000 requests,
 * most of which vary one field of a few large bodies: in the same time more is found by every caller on every operation.
 */
const PARTS = 3;

/**
 * Every operation by everybody of these who may call it, and every parameter of a third of the operations to its edges, by
 * the first; which third, the seed says.
 *
 * @param all the edges of all: three times the requests, for before a release.
 */
export function callersOf({ seed, all }: { readonly seed: number; readonly all: boolean }): readonly Caller[] {
  const taken = new Set<string>();
  const isDue = (_: string, index: number): boolean => all || (index + seed) % PARTS === 0;
  return WHO.map((who) => {
    const theirs = ALL.filter(([, route]) => mayCall(route, who)).map(([id]) => id);
    // To be refused for the role is an answer too, but always the same: once is enough.
    const nobodys = who === WHO.at(-1) ? ALL.map(([id]) => id).filter((id) => !taken.has(id)) : [];
    const operations = [...new Set([...theirs, ...(who === WHO[0] ? META : []), ...nobodys])];
    const edges = operations.filter((id) => !taken.has(id)).filter(isDue);
    for (const id of operations) taken.add(id);
    return { who, operations, edges };
  });
}

function mayCall({ roles, workspace }: Route, who: Who): boolean {
  // Where no workspace need be named a user acts: a key may not, or would change what it hangs on.
  if (who === "user" || workspace !== undefined) return who === "user" && workspace !== undefined;
  if (typeof roles === "string") return roles === "any" || roles === "public";
  return roles.includes(who);
}
