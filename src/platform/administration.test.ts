import { expect, it } from "vitest";
import { type Administration, administer } from "./administration.ts";
import { createBootstrap } from "./bootstrap.ts";
import { systemClock } from "./clock.ts";
import { openDatabase } from "./database.ts";
import { RefusedError } from "./refused-error.ts";
import { inMemory } from "./testing/empty-database.ts";
import { onEachDatabase } from "./testing/harness.ts";

const inEmpty = async <T>(work: (administration: Administration) => Promise<T>) => administer(await inMemory(), work);

it("makes workspaces, keys and managers, lists and revokes them", async () => {
  await inEmpty(async (admin) => {
    const { id } = await admin.createWorkspace("acme");
    const manager = await admin.createManager({ name: "eu", workspace: "acme", targets: ["kubernetes"] });
    const shared = await admin.createManager({ name: "shared" });
    const key = await admin.createKey({ workspace: "acme", role: "workspace.member", description: "on call" });
    expect(await admin.workspaces()).toEqual([{ id, name: "acme", createdAt: expect.any(String) }]);
    expect(key.key).toMatch(/^sp_w_/);
    expect(manager.key).toMatch(/^sp_m_/);
    expect(await admin.keys("acme")).toHaveLength(2);
    expect((await admin.keys(undefined)).map((line) => line.id)).toContain(shared.keyId);
    expect(await admin.revokeKey(key.id)).toBe(true);
    expect(await admin.revokeKey(key.id)).toBe(false);
    expect((await admin.keys("acme")).find((line) => line.id === key.id)).toMatchObject({
      role: "workspace.member",
      description: "on call",
      state: "revoked",
    });
  });
});

it("says what is wrong, and does nothing of it", async () => {
  await inEmpty(async (admin) => {
    await admin.createWorkspace("acme");
    const refusals: readonly [Promise<unknown>, RegExp][] = [
      [admin.createWorkspace("acme"), /there is a workspace acme already/],
      [admin.createWorkspace("A!"), /cannot be a workspace/],
      [admin.createKey({ workspace: "nope", role: "workspace.admin" }), /there is no workspace nope/],
      [admin.createKey({ workspace: "acme", role: "boss" }), /boss is no role; there are workspace\.viewer/],
      [admin.createKey({ workspace: "acme", role: "project.viewer" }), /needs --project/],
      [admin.createKey({ workspace: "acme", role: "workspace.admin", project: "shop" }), /takes no --project/],
      [admin.createKey({ workspace: "acme", role: "project.viewer", project: "shop" }), /no project shop/],
      [admin.createKey({ workspace: "acme", role: "workspace.admin", expiresAt: new Date(0) }), /in the past/],
      [admin.createManager({ name: "x", targets: ["moon"] }), /moon is no target/],
      [admin.revokeKey("apikey_x"), /there is no key apikey_x/],
    ];
    for (const [refusal, words] of refusals) {
      await expect(refusal).rejects.toThrow(words);
      await expect(refusal).rejects.toBeInstanceOf(RefusedError);
    }
    expect(await admin.keys(undefined)).toEqual([]);
  });
});

it("makes the first workspace once", async () => {
  const { db, close } = await openDatabase(await inMemory());
  const bootstrap = createBootstrap(db, systemClock);
  const answers = await Promise.all([bootstrap.first("acme"), bootstrap.first("acme")]);
  expect(answers.filter((answer) => answer !== undefined)).toHaveLength(1);
  await close();
});

onEachDatabase("a database in use", (world) => {
  it("has no first start", async () => {
    await world.workspace();
    expect(await world.platform.bootstrap.first("acme")).toBeUndefined();
  });
});
