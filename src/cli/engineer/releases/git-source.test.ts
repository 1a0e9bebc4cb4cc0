import { expect, it } from "vitest";
import type { Surroundings } from "../calling.ts";
import { gitSource, withoutCredential } from "./git-source.ts";

const CANARY = "canary-of-a-token";

it.each<[string, string | undefined]>([
  ["https://git.example.com/shop/web.git", "https://git.example.com/shop/web.git"],
  [`https://${CANARY}@git.example.com/shop/web.git`, "https://git.example.com/shop/web.git"],
  [`https://ada:${CANARY}@git.example.com:8443/shop/web`, "https://git.example.com:8443/shop/web"],
  [`https://ada:a@${CANARY}@git.example.com/shop/web`, "https://git.example.com/shop/web"],
  [`https://git.example.com/shop/web?private_token=${CANARY}#${CANARY}`, "https://git.example.com/shop/web"],
  ["https://git.example.com/@shop/web", "https://git.example.com/@shop/web"],
  ["ssh://git@git.example.com:2222/shop/web.git", "ssh://git@git.example.com:2222/shop/web.git"],
  [`ssh://git:${CANARY}@git.example.com/shop/web.git`, "ssh://git@git.example.com/shop/web.git"],
  ["git@git.example.com:shop/web.git", "git@git.example.com:shop/web.git"],
  ["../bare/web.git", "../bare/web.git"],
  [`https://ada:pass/${CANARY}@git.example.com/shop`, undefined],
  [`ext::https://ada:${CANARY}@git.example.com/shop`, undefined],
  [`ada:${CANARY}@git.example.com:shop/web.git`, undefined],
])("of the remote %s no credential is kept", (remote, kept) => {
  expect(withoutCredential(remote)).toBe(kept);
});

it("what is sent has no credential of the remote", async () => {
  const said: Readonly<Record<string, string>> = {
    log: ["0".repeat(40), "2026-11-24T10:00:00Z", "Ada", "ada@example.com", "Faster"].join("\0"),
    remote: `https://ada:${CANARY}@git.example.com/shop/web.git\n`,
  };
  const surroundings = {
    runTool: async (_program: string, [word = ""]: readonly string[]) => {
      return { code: word in said ? 0 : 1, stdout: said[word] ?? "", stderr: "" };
    },
  } as unknown as Surroundings;
  const sent = await gitSource(surroundings, new AbortController().signal);
  expect(sent.remoteUrl).toBe("https://git.example.com/shop/web.git");
  expect(JSON.stringify(sent)).not.toContain(CANARY);
});
