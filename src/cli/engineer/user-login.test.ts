import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { CLI_CLIENT } from "../../platform/identity/oauth/client.ts";
import { TestBrowser } from "../../platform/identity/testing/test-browser.ts";
import { onEachDatabase, type World } from "../../platform/testing/harness.ts";
import { runCli } from "../run-cli.ts";
import { engineerCommands } from "./engineer-commands.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-login-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

type Decision = "allow" | "deny";

/** Runs a command; a simulated person visits the address that it prints, and decides. */
async function type(words: readonly string[], visit?: (address: string) => Promise<void>) {
  const said = { out: "", error: "" };
  let visited: Promise<void> | undefined;
  const error = (text: string): void => {
    said.error += text;
    const address = /https?:\S+\/auth\/oauth2\/authorize\S+/.exec(text)?.[0];
    if (address !== undefined) visited = visit?.(address);
  };
  const out = (text: string): void => {
    said.out += text;
  };
  const { find } = engineerCommands(
    {
      env: { XDG_CONFIG_HOME: folder },
      clock: systemClock,
      out,
      error,
      isTTY: false,
      readInput: async () => "",
      askSecret: undefined,
      openBrowser: undefined,
    },
    [],
  );
  const command = await find(words[0] ?? "");
  if (command === undefined) throw new Error(`no command ${words[0]}`);
  const code = await runCli([command], words, { out, error }, new AbortController().signal);
  await visited;
  return { code, ...said };
}

/** A person with a browser, who has not signed in yet. */
function person(email: string, decision: Decision = "allow") {
  return async (address: string): Promise<void> => {
    const browser = new TestBrowser();
    const consent = await browser.submit(await browser.get(address), { email }, "/auth/dev-login");
    const end = await browser.submit(consent, { decision });
    expect(end.text).toContain(decision === "allow" ? "Back to the terminal" : "Not signed in");
  };
}

const file = (): string => join(folder, "sallyport", "profiles.json");

async function tokensOf(name: string): Promise<{ access: string; refresh: string }> {
  return JSON.parse(await readFile(file(), "utf8")).profiles[name].tokens;
}

async function member(world: World, email: string) {
  const workspace = await world.workspace();
  const user = await world.user({ email });
  await workspace.member(user, "workspace.member");
  return { workspace, user };
}

onEachDatabase(
  "signing in at the command line",
  (world) => {
    const login = (...more: string[]): string[] => ["login", "--url", world.platform.url, "--no-browser", ...more];

    it("keeps what the browser gave, renews it, and ends it", async () => {
      const email = `ada-${world.database}@example.com`.toLowerCase();
      const { workspace, user } = await member(world, email);
      const signedIn = await type(login("--profile", "ada"), person(email));
      expect(signedIn).toMatchObject({ code: 0 });
      expect(signedIn.out).toContain(`as ${email}, workspace.member of workspace ${workspace.name}; profile ada`);
      expect((await stat(file())).mode & 0o777).toBe(0o600);
      const first = await tokensOf("ada");
      expect(signedIn.out + signedIn.error).not.toContain(first.access);

      const whoami = () => type(["whoami", "-o", "json", "--profile", "ada"]);
      expect(JSON.parse((await whoami()).out)).toMatchObject({ kind: "user", id: user.id });
      expect(await tokensOf("ada")).toEqual(first);
      const profile = await world.call("GET", "/v1/user/profile", { key: first.access });
      expect(profile.body).toMatchObject({ cliConnected: true });

      world.clock.advance(15 * 60_000);
      // Together: one of them refreshes, the others use what it got.
      const together = await Promise.all([whoami(), whoami(), whoami()]);
      expect(together.map(({ code, error }) => [code, error])).toEqual([
        [0, ""],
        [0, ""],
        [0, ""],
      ]);
      const second = await tokensOf("ada");
      expect(second.access).not.toBe(first.access);
      expect(second.refresh).not.toBe(first.refresh);

      expect(await type(["logout", "--profile", "ada"])).toMatchObject({
        code: 0,
        out: `signed out of ${world.platform.url}\n`,
      });
      expect((await world.call("GET", "/v1/user/profile", { key: second.access })).body.code).toBe("TOKEN_EXPIRED");
      expect((await whoami()).error).toContain("there is no profile ada");
    });

    it("says how to go on when the sign-in has been ended elsewhere", async () => {
      const email = `eve-${world.database}@example.com`.toLowerCase();
      await member(world, email);
      expect((await type(login("--profile", "eve"), person(email))).code).toBe(0);
      await world.platform.db.deleteFrom("oauth_records").execute();
      expect(await type(["whoami", "--profile", "eve"])).toMatchObject({
        code: 4,
        error: expect.stringContaining(
          `the sign-in is over; sign in again: sallyport login --url ${world.platform.url}`,
        ),
      });
    });

    it("keeps nothing when the user refuses, or belongs nowhere or to several workspaces", async () => {
      const email = `bob-${world.database}@example.com`.toLowerCase();
      const refused = await type(login("--profile", "bob"), person(email, "deny"));
      expect(refused).toMatchObject({ code: 4, error: expect.stringContaining("the user refused") });
      const nowhere = await type(login("--profile", "bob"), person(email));
      expect(nowhere).toMatchObject({ code: 1, error: expect.stringContaining("you belong to no workspace there") });
      const { workspace } = await member(world, email);
      const other = await member(world, email);
      const several = await type(login("--profile", "bob"), person(email));
      expect(several.error).toContain(`one of ${[workspace.name, other.workspace.name].sort().join(", ")}`);
      expect(await type(["profiles"])).not.toMatchObject({ out: expect.stringContaining("bob") });
      const named = await type(login("--profile", "bob", "--workspace", other.workspace.name), person(email));
      expect(named).toMatchObject({ code: 0, out: expect.stringContaining(`of workspace ${other.workspace.name}`) });
      expect((await type(["profiles", "remove", "bob"])).code).toBe(0);
    });
  },
  { identity: { outside: undefined, devLogin: true, clients: [CLI_CLIENT] } },
);
