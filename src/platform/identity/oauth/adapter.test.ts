import { errors } from "oidc-provider";
import { expect, it } from "vitest";
import { hashOf } from "../../kernel/secret-hash.ts";
import { OWN_PLATFORM, onEachDatabase } from "../../testing/harness.ts";
import { SqlAdapter } from "./adapter.ts";

let made = 0;

onEachDatabase(
  "records of the OAuth server",
  (world) => {
    const adapter = (kind: string): SqlAdapter => new SqlAdapter(kind, world.platform.db, world.clock);

    it.each(["AuthorizationCode", "RefreshToken"])(
      "a %s is consumed by one of two that found it unused",
      async (kind) => {
        made += 1;
        const grantId = `grant-${made}`;
        await adapter("Grant").upsert(grantId, { clientId: "cli" }, 600);
        await adapter(kind).upsert(`secret-${made}`, { grantId }, 60);
        await adapter("AccessToken").upsert(`token-${made}`, { grantId }, 60);
        expect(await adapter(kind).find(`secret-${made}`)).not.toHaveProperty("consumed");
        await adapter(kind).consume(`secret-${made}`);
        expect(await adapter(kind).find(`secret-${made}`)).toHaveProperty("consumed");
        await expect(adapter(kind).consume(`secret-${made}`)).rejects.toBeInstanceOf(errors.InvalidGrant);
        // And all that came of it is over.
        const left = [adapter("Grant").find(grantId), adapter("AccessToken").find(`token-${made}`)];
        expect(await Promise.all(left)).toEqual([undefined, undefined]);
      },
    );

    it("are found by their id, with it, until their time is over", async () => {
      const code = adapter("AuthorizationCode");
      await code.upsert("id-of-it", { jti: "id-of-it", clientId: "cli" }, 60);
      expect(await code.find("id-of-it")).toEqual({ jti: "id-of-it", clientId: "cli" });
      expect(await adapter("AccessToken").find("id-of-it")).toBeUndefined();
      expect(await code.find(hashOf("id-of-it"))).toBeUndefined();
      world.clock.advance(60_000);
      expect(await code.find("id-of-it")).toBeUndefined();
      await world.platform.sweep();
      const rows = await world.platform.db
        .selectFrom("oauth_records")
        .selectAll()
        .where("kind", "=", "AuthorizationCode");
      expect((await rows.execute()).map((row) => row.id_hash)).not.toContain(hashOf("id-of-it"));
    });

    it("a used code is known to be used as long as its grant, and an unused one a minute", async () => {
      const [code, grant] = [adapter("AuthorizationCode"), adapter("Grant")];
      const daySeconds = 24 * 3600;
      await grant.upsert("long-grant", { clientId: "cli" }, daySeconds);
      for (const id of ["used-code", "unused-code"]) await code.upsert(id, { grantId: "long-grant", exp: 1 }, 60);
      await code.consume("used-code");
      world.clock.advance((daySeconds * 1000) / 2);
      await world.platform.sweep();
      expect(await code.find("unused-code")).toBeUndefined();
      expect(await code.find("used-code")).toEqual({
        grantId: "long-grant",
        jti: "used-code",
        consumed: expect.any(Number),
      });
      world.clock.advance((daySeconds * 1000) / 2);
      await world.platform.sweep();
      expect(await code.find("used-code")).toBeUndefined();
    });

    it("a token that was being issued while its grant ended is dead", async () => {
      const user = await world.user();
      const grantId = `late-${user.id}`;
      const token = `sp_at_${"x".repeat(30)}${user.id.slice(-8)}`;
      await adapter("Grant").upsert(grantId, { accountId: user.id }, 600);
      await adapter("AccessToken").upsert(token, { accountId: user.id, grantId }, 600);
      const status = async () => (await world.call("GET", "/v1/user/profile", { key: token })).status;
      expect(await status()).toBe(200);
      await adapter("Grant").destroy(grantId);
      expect(await status()).toBe(401);
      // A record of another kind under the same grant does not stand in for it.
      await adapter("RefreshToken").upsert(`refresh-${grantId}`, { accountId: user.id, grantId }, 600);
      expect(await status()).toBe(401);
    });
  },
  OWN_PLATFORM,
);
