import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql } from "kysely";
import { expect, it } from "vitest";
import { statusIn } from "./lapsing.ts";

const db = new Kysely<{ things: { status: string } }>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (of) => new PostgresIntrospector(of),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});
type Status = "open" | "done" | "over";
const lapse = { from: ["open"], to: "over" } as const;

function stored(wanted: readonly Status[]): readonly unknown[] {
  const asOfNow = sql<Status>`now_status`;
  const { parameters } = db
    .selectFrom("things")
    .where(statusIn("status", asOfNow, wanted, lapse))
    .compile();
  return parameters.slice(0, parameters.length - wanted.length);
}

it.each([
  { wanted: ["done"], looked: ["done"] },
  { wanted: ["open"], looked: ["open"] },
  { wanted: ["over"], looked: ["over", "open"] },
  { wanted: ["over", "open"], looked: ["over", "open"] },
] as const)(
  "for $wanted the stored ones are $looked: what may have lapsed is looked at when the lapsed are wanted",
  ({ wanted, looked }) => {
    expect(stored(wanted)).toEqual(looked);
  },
);
