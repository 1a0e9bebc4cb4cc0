import type { Role } from "../../src/contract/roles.ts";
import type { Route } from "../../src/contract/route.ts";
import { ROUTES } from "../../src/contract/table.ts";
import type { Furniture } from "../platform/furniture.ts";

interface Caller {
  readonly title: string;
  readonly credential: string;
  /** Operation ids, `area.name`. */
  readonly operations: readonly string[];
  readonly args: readonly string[];
}

const ALL: readonly (readonly [string, Route])[] = Object.entries(ROUTES).flatMap(([area, routes]) =>
  Object.entries(routes).map(([name, route]) => [`${area}.${name}`, route] as const),
);
const META = ["meta.openapi", "meta.livez", "meta.readyz"];

/** In how many parts the operations are taken for their edges, which take most of the time; a run takes one of them. */
const PARTS = 3;

/**
 * Every operation by somebody who may call it, and every parameter of a third of them to its edges; which third, the seed
 * says. To be refused for the role is an answer too, but always the same.
 *
 * @param all the edges of all: a quarter of an hour.
 */
export function callersOf(
  { developerKey, runtimeKey }: Furniture,
  adminKey: string,
  { seed, all }: { readonly seed: number; readonly all: boolean },
): readonly Caller[] {
  const admins = [...operationsOf("workspace.admin"), ...META];
  const managers = operationsOf("manager.runtime").filter((id) => !admins.includes(id));
  const nobodys = ALL.map(([id]) => id).filter((id) => !admins.includes(id) && !managers.includes(id));
  const isDue = (_: string, index: number): boolean => all || (index + seed) % PARTS === 0;
  const edges = ["--phases", "examples,coverage,fuzzing"];
  const some = ["--phases", "examples,fuzzing"];
  const [dueToAdmins, dueToManagers] = [admins.filter(isDue), managers.filter(isDue)];
  return [
    { title: "workspace.admin, to the edges", credential: adminKey, operations: dueToAdmins, args: edges },
    { title: "manager.runtime, to the edges", credential: runtimeKey, operations: dueToManagers, args: edges },
    { title: "workspace.admin", credential: adminKey, operations: without(admins, dueToAdmins), args: some },
    { title: "manager.runtime", credential: runtimeKey, operations: without(managers, dueToManagers), args: some },
    {
      title: "project.developer",
      credential: developerKey,
      operations: [...operationsOf("project.developer"), ...nobodys],
      args: some,
    },
  ].filter(({ operations }) => operations.length > 0);
}

function without(all: readonly string[], some: readonly string[]): string[] {
  return all.filter((id) => !some.includes(id));
}

function operationsOf(role: Role): string[] {
  return ALL.filter(([, route]) => mayCall(route, role)).map(([id]) => id);
}

function mayCall({ roles }: Route, role: Role): boolean {
  if (typeof roles === "string") return roles === "any" || roles === "public";
  return roles.includes(role);
}
