import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../base/testing/runs.ts";
import { BUILTIN_PLUGINS } from "../../contract/operations/builtin-plugins.ts";
import { OPERATIONS } from "../../crds/operations/catalog.ts";
import { DEBUG_OPERATIONS } from "../../crds/operations/debug.ts";
import { MACHINE_OPERATIONS } from "../../crds/operations/machines.ts";
import { parseParams } from "../../crds/operations/params.ts";
import { checkParams, checkSizes } from "../../platform/areas/operations/params/params.ts";
import { findOperation } from "./catalog.ts";

type Params = Readonly<Record<string, unknown>>;

interface Property {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** The platform's own schema of an operation's params. */
function schemaOf(command: string): Params & {
  readonly properties: Readonly<Record<string, Property>>;
  readonly required: readonly string[];
} {
  const found = BUILTIN_PLUGINS.flatMap(({ name: plugin, operations }) =>
    operations.filter(({ name }) => `${plugin}/${name}` === command),
  );
  return (found[0]?.paramsSchema ?? {}) as ReturnType<typeof schemaOf>;
}

/** As the platform judges what an engineer sends. */
function isAccepted(params: Params, command: string): boolean {
  const given = [{ path: "/params", params, schema: schemaOf(command) }];
  try {
    checkSizes(given);
    checkParams(given);
    return true;
  } catch {
    return false;
  }
}

const SPACES = [" ", "\u00a0", "\u2003", "\u3000", "\u200b", "\ufeff", "\t", "\n", ""];

/** Mostly what fits; then what is at a bound, or nearly fits. */
function drawn({ type, enum: words, pattern = "^.*$", maxLength = 1024, minimum = 0, maximum = 0 }: Property) {
  if (words !== undefined) return mostly(fc.constantFrom(...words), fc.constantFrom("Deployment", null));
  if (type === "integer") {
    return mostly(
      fc.integer({ min: minimum, max: maximum }),
      fc.constantFrom(minimum, maximum, minimum - 1, maximum + 1, minimum + 0.5, -0, String(minimum)),
    );
  }
  if (type === "boolean") return fc.constantFrom(true, false, "true", 0);
  const fitting = fc.stringMatching(new RegExp(pattern));
  const spaced = fc.tuple(fitting, fc.constantFrom(...SPACES), fitting).map((parts) => parts.join(""));
  const long = fc.integer({ min: maxLength - 2, max: maxLength + 1 }).map((length) => "a".repeat(length));
  return mostly(fitting, fc.oneof(spaced, long, fc.string()));
}

function mostly<T>(fitting: fc.Arbitrary<T>, other: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: 5, arbitrary: fitting }, { weight: 1, arbitrary: other });
}

function paramsOf(command: string): fc.Arbitrary<Params> {
  const { properties, required } = schemaOf(command);
  const values = Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, drawn(property)]));
  return fc.record(values, { requiredKeys: [...required] });
}

describe.each(OPERATIONS.map(({ command }) => command))("%s", (command) => {
  test("takes whatever params the platform takes: an approved plan is not refused for them", () => {
    fc.assert(
      fc.property(paramsOf(command), (params) => {
        fc.pre(isAccepted(params, command));
        const bound = findOperation(command)?.bind(params);
        expect(bound?.ok, JSON.stringify(params) + (bound?.ok === false ? bound.problems.join("; ") : "")).toBe(true);
      }),
      { numRuns: runs(150) },
    );
  });
});

interface DebugField extends Property {
  readonly const?: unknown;
  readonly items?: Property;
}

/** `mode` is a constant of the schema and `ports` a list, which no other operation has. */
function debugParams(command: string): fc.Arbitrary<Params> {
  const { properties, required } = schemaOf(command);
  const values = Object.entries(properties as Readonly<Record<string, DebugField>>).map(([name, property]) => {
    const { const: constant, items } = property;
    if (items !== undefined) return [name, fc.array(drawn({ type: "integer", ...items }), { maxLength: 9 })] as const;
    return [name, constant === undefined ? drawn(property) : mostly(fc.constant(constant), fc.string())] as const;
  });
  return fc.record(Object.fromEntries(values), { requiredKeys: [...required] });
}

test.each(DEBUG_OPERATIONS.map(({ command, params }) => [command, params] as const))(
  "%s takes the params that the platform takes",
  (command, declared) => {
    fc.assert(
      fc.property(debugParams(command), (params) => {
        const parsed = parseParams(declared, params);
        fc.pre(isAccepted(params, command));
        expect(parsed, JSON.stringify(params)).toMatchObject({ ok: true });
      }),
      { numRuns: runs(150) },
    );
    const honest = { namespace: "shop", mode: command.slice("debug/".length), clientKey: "k".repeat(43) };
    expect(isAccepted(honest, command)).toBe(true);
    for (const params of [{}, { ...honest, mode: "other" }, { ...honest, clientKey: "k" }, { ...honest, more: 1 }]) {
      expect(isAccepted(params, command)).toBe(false);
      expect(parseParams(declared, params).ok).toBe(false);
    }
  },
);

test.each(MACHINE_OPERATIONS.map(({ command, params }) => [command, params] as const))(
  "%s takes the params that the platform takes",
  (command, declared) => {
    fc.assert(
      fc.property(paramsOf(command), (params) => {
        const accepted = isAccepted(params, command);
        expect(parseParams(declared, params).ok, JSON.stringify(params)).toBe(accepted);
        fc.pre(accepted);
      }),
      { numRuns: runs(150) },
    );
    for (const params of [{}, { machineId: "-m" }, { machineId: "" }, { machineId: "m", force: true }]) {
      expect(isAccepted(params, command)).toBe(false);
      expect(parseParams(declared, params).ok).toBe(false);
    }
  },
);

test.each([
  ["of 512 characters is the longest", "a".repeat(512), true],
  ["of 513 is too long for both", "a".repeat(513), false],
  ["with a no-break space is refused at once", "app=\u00a0web", false],
  ["with an em space is refused at once", "app=web,\u2003tier=db", false],
  ["with a zero-width space is refused at once", "app=\u200bweb", false],
  ["with a quote is refused at once", 'app="web"', false],
])("a label selector %s", (_, labelSelector, fits) => {
  const params = { namespace: "shop", labelSelector };
  expect(isAccepted(params, "kubernetes/get-pods")).toBe(fits);
  expect(findOperation("kubernetes/get-pods")?.bind(params).ok).toBe(fits);
});
