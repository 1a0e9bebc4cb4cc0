import { describe, expect, it } from "vitest";
import { onEachDatabase, type World } from "../../testing/harness.ts";
import { cli, codeOf, freshCode, identity, PORTAL, post, SPA, signIn, TOKEN } from "../testing/flow.ts";

onEachDatabase(
  "the token endpoint",
  (world) => {
    describe("refuses a code", () => {
      it.each([
        ["without its verifier", { code_verifier: "" }],
        ["with another verifier", { code_verifier: "v".repeat(43) }],
        ["for another redirect", { redirect_uri: "http://127.0.0.1:45124/callback" }],
        ["of another client", { client_id: SPA.id }],
        ["that never was", { code: "c".repeat(43) }],
      ])("%s", async (_, change) => {
        const answer = await post(world, TOKEN, { ...(await freshCode(world, "code@example.com")), ...change });
        expect([answer.status, answer.body.error]).toEqual([400, "invalid_grant"]);
        expect(answer.headers.get("cache-control")).toContain("no-store");
      });

      it("after 60 seconds", async () => {
        const exchange = await freshCode(world, "slow@example.com");
        world.clock.advance(60_000);
        expect((await post(world, TOKEN, exchange)).body.error).toBe("invalid_grant");
      });

      it("a second time, and ends what the first gave", async () => {
        const exchange = await freshCode(world, "twice@example.com");
        const first = await post(world, TOKEN, exchange);
        expect(first.status).toBe(200);
        expect(await codeOf(world, first.body.access_token)).toBeUndefined();
        expect((await post(world, TOKEN, exchange)).body.error).toBe("invalid_grant");
        expect(await codeOf(world, first.body.access_token)).toBe("TOKEN_EXPIRED");
        const form = { grant_type: "refresh_token", refresh_token: first.body.refresh_token, ...cli };
        expect((await post(world, TOKEN, form)).body.error).toBe("invalid_grant");
      });

      it("a second time days later, and ends what has come of the first till then", async () => {
        const exchange = await freshCode(world, "late@example.com");
        const first = await post(world, TOKEN, exchange);
        world.clock.advance(5 * 24 * 3_600_000);
        await world.platform.sweep();
        const form = { grant_type: "refresh_token", refresh_token: first.body.refresh_token, ...cli };
        const { body } = await post(world, TOKEN, form);
        expect(await codeOf(world, body.access_token)).toBeUndefined();
        // Not by guessing: who brings it must know what only its client does.
        expect((await post(world, TOKEN, { ...exchange, code_verifier: "v".repeat(43) })).body.error).toBe(
          "invalid_grant",
        );
        expect(await codeOf(world, body.access_token)).toBeUndefined();
        expect((await post(world, TOKEN, exchange)).body.error).toBe("invalid_grant");
        expect(await codeOf(world, body.access_token)).toBe("TOKEN_EXPIRED");
        const later = { ...form, refresh_token: body.refresh_token };
        expect((await post(world, TOKEN, later)).body.error).toBe("invalid_grant");
      });

      it("from ten at once: one at most is served, and then nobody", async () => {
        const exchange = await freshCode(world, "race@example.com");
        const answers = await Promise.all(Array.from({ length: 10 }, () => post(world, TOKEN, exchange)));
        const served = answers.filter(({ status }) => status === 200);
        expect(served.length).toBeLessThanOrEqual(1);
        for (const { status } of answers) expect([200, 400]).toContain(status);
        for (const { body } of served) expect(await codeOf(world, body.access_token)).toBe("TOKEN_EXPIRED");
      });
    });

    it("answers other grants and broken requests in RFC 6749's form", async () => {
      const code = async (form: Record<string, string>, headers = {}) => {
        const answer = await post(world, TOKEN, form, headers);
        return [answer.status, answer.body.error];
      };
      expect(await code({ grant_type: "client_credentials", ...cli })).toEqual([400, "unsupported_grant_type"]);
      expect(await code({ grant_type: "password", username: "a", password: "b", ...cli })).toEqual([
        400,
        "unsupported_grant_type",
      ]);
      expect(await code(cli)).toEqual([400, "invalid_request"]);
      expect(await code({ grant_type: "authorization_code" })).toEqual([400, "invalid_request"]);
      const wrong = `Basic ${Buffer.from(`${PORTAL.id}:wrong`).toString("base64")}`;
      const form = { grant_type: "authorization_code", code: "x", redirect_uri: "https://portal.example/back" };
      expect(await code(form, { authorization: wrong })).toEqual([401, "invalid_client"]);
      expect(await code({ ...form, client_id: PORTAL.id })).toEqual([401, "invalid_client"]);
      const json = await fetch(new URL(TOKEN, world.platform.url), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{}",
      });
      expect([json.status, ((await json.json()) as { error: string }).error]).toEqual([400, "invalid_request"]);
    });

    describe("a refresh token", () => {
      const refresh = (world: World, token: string | undefined, more = {}) =>
        post(world, TOKEN, { grant_type: "refresh_token", refresh_token: token ?? "", ...cli, ...more });

      it("comes only with offline_access", async () => {
        expect((await signIn(world, "off@example.com")).tokens.refresh_token).toMatch(/^sp_rt_/);
        expect((await signIn(world, "off@example.com", { scope: "openid" })).tokens.refresh_token).toBeUndefined();
      });

      it("is another one after each use; using one twice ends the whole family", async () => {
        const { tokens } = await signIn(world, "rotate@example.com");
        const second = await refresh(world, tokens.refresh_token);
        expect(second.status).toBe(200);
        expect(second.body.refresh_token).not.toBe(tokens.refresh_token);
        const third = await refresh(world, second.body.refresh_token);
        expect(await codeOf(world, third.body.access_token)).toBeUndefined();
        const reused = await refresh(world, tokens.refresh_token);
        expect([reused.status, reused.body.error]).toEqual([400, "invalid_grant"]);
        expect((await refresh(world, third.body.refresh_token)).body.error).toBe("invalid_grant");
        for (const token of [tokens.access_token, second.body.access_token, third.body.access_token]) {
          expect(await codeOf(world, token)).toBe("TOKEN_EXPIRED");
        }
      });

      it("used by ten at once is a reuse", async () => {
        const { tokens } = await signIn(world, "storm@example.com");
        const answers = await Promise.all(Array.from({ length: 10 }, () => refresh(world, tokens.refresh_token)));
        const served = answers.filter(({ status }) => status === 200);
        expect(served.length).toBeLessThanOrEqual(1);
        for (const { body } of served) {
          expect(await codeOf(world, body.access_token)).toBe("TOKEN_EXPIRED");
          expect((await refresh(world, body.refresh_token)).body.error).toBe("invalid_grant");
        }
      });

      it("is the client's own, cannot ask for more, and lives 30 days", async () => {
        const { tokens } = await signIn(world, "own@example.com", { scope: "openid offline_access" });
        expect((await refresh(world, tokens.refresh_token, { client_id: SPA.id })).body.error).toBe("invalid_grant");
        expect((await refresh(world, tokens.refresh_token, { scope: "openid email" })).body.error).toBe(
          "invalid_scope",
        );
        world.clock.advance(30 * 24 * 3_600_000);
        expect((await refresh(world, tokens.refresh_token)).body.error).toBe("invalid_grant");
      });
    });

    describe("revocation", () => {
      const revoke = (token: string, more: Record<string, string> = {}) =>
        post(world, "/auth/oauth2/revoke", { token, ...cli, ...more });

      it.each(["access_token", "refresh_token"] as const)("of the %s ends both", async (kind) => {
        const { tokens } = await signIn(world, "revoke@example.com");
        expect((await revoke(tokens[kind] ?? "")).status).toBe(200);
        expect(await codeOf(world, tokens.access_token)).toBe("TOKEN_EXPIRED");
        const form = { grant_type: "refresh_token", refresh_token: tokens.refresh_token ?? "", ...cli };
        expect((await post(world, TOKEN, form)).body.error).toBe("invalid_grant");
      });

      it("says the same of a token that is another's or never was, and does nothing", async () => {
        const { tokens } = await signIn(world, "other@example.com");
        expect((await revoke(tokens.access_token, { client_id: SPA.id })).status).toBe(200);
        expect((await revoke("sp_at_never")).status).toBe(200);
        expect(await codeOf(world, tokens.access_token)).toBeUndefined();
        expect((await revoke("")).body.error).toBe("invalid_request");
      });
    });
  },
  { identity },
);
