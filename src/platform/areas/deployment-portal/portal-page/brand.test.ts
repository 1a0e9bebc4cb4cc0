import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../../../base/testing/runs.ts";
import { page } from "../../../kernel/web-page.ts";
import { brandOf } from "./brand.ts";

const PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==";
const ORIGIN = /^https:\/\/[a-z0-9.-]+(:[0-9]{1,5})?$/;

/** The page's policy, a directive a line. */
function policyWith(avatarUrl: string): readonly string[] {
  const { headers } = page("x", brandOf("Example", avatarUrl).head, brandOf("Example", avatarUrl));
  return (headers["content-security-policy"] ?? "").split("; ");
}

describe("a vendor's image", () => {
  it.each([
    ["https://images.example.com/a/logo.png?v=2;x,y", "https://images.example.com"],
    ["https://IMAGES.example.com:8443/'\"<>.svg", "https://images.example.com:8443"],
    ["https://images.example.com", "https://images.example.com"],
    ["https://a--b.xn--p1ai/logo", "https://a--b.xn--p1ai"],
    [PIXEL, undefined],
  ])("%s is shown, and no host but its own may be asked", (url, origin) => {
    const { head, imageOrigin } = brandOf("Example", url);
    expect(imageOrigin).toBe(origin);
    expect(head.text.match(/<img [^>]*>/g)).toEqual([
      expect.stringMatching(
        /^<img src="[^"<>]+" alt="" width="40" height="40" decoding="async" referrerpolicy="no-referrer">$/,
      ),
    ]);
    expect(policyWith(url)).toContain(`img-src data:${origin === undefined ? "" : ` ${origin}`}`);
  });

  it.each([
    "http://images.example.com/logo.png",
    "javascript:alert(1)",
    "data:text/html;base64,PHNjcmlwdD4=",
    "data:image/svg+xml,<svg onload=alert(1)>",
    "//images.example.com/logo.png",
    "https:images.example.com/logo.png",
    "https:\\\\images.example.com/logo.png",
    "https://user:password@images.example.com/logo.png",
    "https://images.example.com@10.0.0.1/",
    "https://10.0.0.1/reboot",
    "https://0x7f.1/",
    "https://2130706433/",
    "https://[::1]/",
    "https://localhost/",
    "https://router/reboot",
    "https://*.example.com/",
    "https://a;script-src.example.com/",
    "https://a,b.example.com/",
    "https://'unsafe-inline'.example.com/",
    "https://images.example.com:99999/",
    "https://images.example.com/a b",
    "https://images.example.com\n.example/",
    "",
  ])("%j is none: the page has initials, and asks no host", (url) => {
    const { head, imageOrigin } = brandOf("Example", url);
    expect(imageOrigin).toBeUndefined();
    expect(head.text).not.toContain("<img");
    expect(policyWith(url)).toContain("img-src data:");
  });

  it("adds one origin to the policy, or nothing, out of any text", () => {
    const host = fc.stringMatching(/^[a-z0-9.;,*'"%@:[\]-]{1,20}$/);
    const near = fc.tuple(host, fc.string()).map(([name, rest]) => `https://${name}${rest}`);
    const plain = policyWith("");
    const bare = brandOf("Example", undefined).head.text;
    fc.assert(
      fc.property(fc.oneof(near, fc.webUrl({ validSchemes: ["https"] }), fc.string()), (url) => {
        const { imageOrigin, head } = brandOf("Example", url);
        if (imageOrigin !== undefined) expect(imageOrigin).toMatch(ORIGIN);
        expect(head.text.replace(/<img [^<>]*>/, "")).toBe(bare);
        expect(policyWith(url)).toHaveLength(plain.length);
      }),
      { numRuns: runs(2_000), examples: [["https://a.example/"], ["https://a;b.example/"]] },
    );
  });
});

describe("without an image", () => {
  it.each([
    ["example-software", "ES"],
    ["acme", "A"],
    ["Ärzte ohne Eile", "ÄO"],
    ["ßeta 7 more", "S7"],
    ["株式会社 例", "株例"],
    ["𝒜cme", "𝒜"],
    ["<b>&", "B"],
    ["---", ""],
  ])("%s has the initials %s", (name, initials) => {
    const { head } = brandOf(name, undefined);
    expect(head.text).toContain(`<span aria-hidden="true">${initials}</span>`);
    expect(head.text).not.toContain("<b>");
  });
});
