import type { Seen } from "../../../identity/testing/test-browser.ts";

/** The blocks of lines that a portal's page shows, as a person copies them. */
export function linesOf({ text }: Pick<Seen, "text">): readonly string[] {
  return [...text.matchAll(/<pre><code id="line-\d+">([^<]*)<\/code>/g)].map(([, lines = ""]) =>
    lines.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code))),
  );
}
