import { type StackProblem, shortened } from "./stack-problem.ts";

type Dependency = string | { readonly id: string };
type Resources = Readonly<Record<string, { readonly dependencies: readonly Dependency[] }>>;

/** Dependencies on what is not there, and one circle: waves of a rollout follow the dependencies. */
export function* dependencyProblems(resources: Resources): Generator<StackProblem> {
  const needs = new Map<string, ReadonlySet<string>>();
  for (const [id, { dependencies }] of Object.entries(resources)) {
    const known = new Set<string>();
    for (const [index, dependency] of dependencies.entries()) {
      const needed = typeof dependency === "string" ? dependency : dependency.id;
      if (Object.hasOwn(resources, needed)) known.add(needed);
      else {
        const path = `resources.${shortened(id)}.dependencies.${index}`;
        yield { path, message: `${JSON.stringify(shortened(needed))} is no resource of the stack` };
      }
    }
    needs.set(id, known);
  }
  const circle = circleIn(needs);
  if (circle === undefined) return;
  const shown = circle.slice(0, MAX_SHOWN).map(shortened);
  const more = circle.length > MAX_SHOWN ? ["…"] : [];
  const path = `resources.${shown[0]}.dependencies`;
  yield { path, message: `go in a circle: ${[...shown, ...more, shown[0]].join(" → ")}` };
}

const MAX_SHOWN = 8;

/** The ids of one circle, each needing the next; undefined when there is none. Looks at each dependency at most twice. */
function circleIn(needs: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] | undefined {
  const users = new Map<string, string[]>();
  const open = new Map<string, number>();
  for (const [id, needed] of needs) {
    open.set(id, needed.size);
    for (const each of needed) {
      const known = users.get(each);
      if (known === undefined) users.set(each, [id]);
      else known.push(id);
    }
  }
  const free = [...needs.keys()].filter((id) => open.get(id) === 0);
  for (let id = free.pop(); id !== undefined; id = free.pop()) {
    open.delete(id);
    for (const user of users.get(id) ?? []) {
      const left = (open.get(user) ?? 0) - 1;
      open.set(user, left);
      if (left === 0) free.push(user);
    }
  }
  // Each of those that are left needs another one that is left: going on, one comes again.
  const [first] = open.keys();
  if (first === undefined) return undefined;
  const way: string[] = [];
  const placeOf = new Map<string, number>();
  for (let at = first; ; ) {
    const place = placeOf.get(at);
    if (place !== undefined) return way.slice(place);
    placeOf.set(at, way.length);
    way.push(at);
    at = [...(needs.get(at) ?? [])].find((each) => open.has(each)) ?? at;
  }
}
