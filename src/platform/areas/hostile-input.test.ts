import { expect, it } from "vitest";
import { onEachDatabase } from "../testing/harness.ts";
import { checkInputValues } from "./deployments/settings/inputs.ts";
import { insertProject } from "./operations/testing/site.ts";

const MEGABYTE = 1024 * 1024;
const listOf = (item: string): string =>
  `[${Array(Math.floor((MEGABYTE - 2) / (item.length + 1)))
    .fill(item)
    .join(",")}]`;
const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);

/** 2^levels steps for what follows its references: 2.7 KB for 40 levels. */
function doubled(levels: number): object {
  const twice = (level: number) => ({ allOf: [{ $ref: `#/$defs/l${level}` }, { $ref: `#/$defs/l${level}` }] });
  const $defs = Object.fromEntries(
    Array.from({ length: levels }, (_, level) => [`l${level}`, level + 1 === levels ? {} : twice(level + 1)]),
  );
  return { type: "object", ...twice(0), $defs };
}

onEachDatabase("what one tenant sends to hold the event loop", (world) => {
  async function attacker() {
    const workspace = await world.workspace();
    const { projectId } = await insertProject(world.platform.db, workspace.id);
    const key = await workspace.key("workspace.member");
    return (path: string, body: unknown) => world.call("POST", path, { key, query: { project: projectId }, body });
  }

  /** Another tenant, and what asks whether the process lives, while the attack runs. */
  async function others() {
    const key = await (await world.workspace()).key("workspace.viewer");
    return async () => {
      const [whoami, alive] = await Promise.all([
        world.call("GET", "/v1/whoami", { key }),
        fetch(new URL("/livez", world.platform.url)),
      ]);
      expect([whoami.status, alive.status]).toEqual([200, 200]);
    };
  }

  it("a schema of doubled references is refused with its place", async () => {
    const [post, served] = [await attacker(), await others()];
    const plugin = { name: "shop", version: "1.0.0", tier: "mutating" };
    const metadata = { name: "shop", version: "1.0.0", operations: [{ name: "go", paramsSchema: doubled(40) }] };
    const attack = post("/v1/operations/plugins", { ...plugin, metadata });
    await served();
    const { status, body } = await attack;
    expect([status, body.code]).toEqual([400, "PLUGIN_METADATA_INVALID"]);
    expect(body.context.issues[0]).toEqual({
      path: "metadata/operations/0/paramsSchema/allOf/0/$ref",
      message: "is not allowed: a params schema is written out, without references",
    });
  });

  it("a release's pattern that RE2 lacks is refused with its place", async () => {
    const post = await attacker();
    const inputs = [{ id: "a", kind: "string", label: "A", required: true, validation: { pattern: "^(?!x)(a+)+$" } }];
    const stack = { aws: { id: "s", inputs, resources: {} } };
    const { status, body } = await post("/v1/releases", { project: "any", stack });
    expect([status, body.code]).toEqual([400, "VALIDATION_ERROR"]);
    expect(body.context.issues).toEqual([
      {
        path: "body.stack.aws.inputs.0.validation.pattern",
        message: expect.stringContaining("has a lookahead, which RE2 lacks"),
      },
    ]);
  });

  it.each([
    ["lists within lists", nested(MEGABYTE / 2), "is nested deeper than 64"],
    ["numbers", listOf("1"), "has more than 100000 values"],
    ["empty objects", listOf("{}"), "has more than 100000 values"],
    ["lists within lists, many", listOf(nested(60)), "has more than 100000 values"],
  ])("eight megabytes of %s are refused", async (_, text, message) => {
    const [post, served] = [await attacker(), await others()];
    const attacks = Array.from({ length: 8 }, () => post("/v1/operations/invoke", text));
    await served();
    for (const { status, body } of await Promise.all(attacks)) {
      expect([status, body.code, body.context.issues]).toEqual([400, "VALIDATION_ERROR", [{ path: "body", message }]]);
    }
  });
});

it.each(["^(a+)+$", "^(a|aa)+$", "^(.*a){20}$"])("an input of a release is judged by %s in linear time", (pattern) => {
  const input = { id: "a", kind: "string", label: "A", required: true, validation: { pattern } } as const;
  expect(checkInputValues([input], { a: `${"a".repeat(9_999)}!` })).toEqual([
    { path: "body.inputValues.a", message: `must match ${pattern}` },
  ]);
});
