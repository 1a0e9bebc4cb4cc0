import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { commitUrlOf, toGitMetadata } from "./git.ts";

const SHA = "a".repeat(40);
const urlFor = (remoteUrl: string) => commitUrlOf(toGitMetadata({ remoteUrl, commitSha: SHA }));

describe("a commit's address", () => {
  it.each([
    ["https://git.example.com/acme/shop.git", "https://git.example.com/acme/shop"],
    ["http://git.example.com:8443/acme/shop/", "https://git.example.com:8443/acme/shop"],
    ["https://user:secret@git.example.com/acme/shop", "https://git.example.com/acme/shop"],
    ["git@git.example.com:acme/shop.git", "https://git.example.com/acme/shop"],
    ["ssh://git@git.example.com:2222/acme/shop.git", "https://git.example.com/acme/shop"],
    ["git://git.example.com/acme/shop", "https://git.example.com/acme/shop"],
    ["https://git.example.com/ä b/shop", "https://git.example.com/%C3%A4%20b/shop"],
  ])("of %s is made from %s", (remote, base) => {
    expect(urlFor(remote)).toBe(`${base}/commit/${SHA}`);
  });

  it.each(["/srv/git/shop.git", "file:///srv/git/shop.git", "https://git.example.com", "", "not an address"])(
    "of %j is null",
    (remote) => expect(urlFor(remote)).toBeNull(),
  );

  it("is null without a sha, and is an address whatever the remote is", () => {
    expect(commitUrlOf(toGitMetadata({ remoteUrl: "https://git.example.com/a/b" }))).toBeNull();
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.webUrl(),
          fc.webUrl().map((url) => url.replace("https", "ssh")),
        ),
        (remote) => {
          const url = urlFor(remote);
          expect(url === null || (URL.canParse(url) && url.startsWith("https://"))).toBe(true);
        },
      ),
    );
  });

  it("a token in the remote is not kept, the user of an ssh remote is", () => {
    const kept = (remoteUrl: string) => toGitMetadata({ remoteUrl }).remoteUrl;
    expect(kept("https://x-token:abc@git.example.com/a/b")).toBe("https://git.example.com/a/b");
    expect(kept("https://abc@git.example.com/a/b")).toBe("https://git.example.com/a/b");
    expect(kept("ssh://git@git.example.com/a/b")).toBe("ssh://git@git.example.com/a/b");
    expect(kept("git@git.example.com:a/b")).toBe("git@git.example.com:a/b");
  });
});
