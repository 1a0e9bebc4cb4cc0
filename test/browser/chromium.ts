import { execFileSync } from "node:child_process";
import { type Browser, chromium } from "playwright-core";
import { packageProblem } from "../../lab/debian-package.ts";

const PROGRAM = "/usr/bin/chromium";

/** Why Debian's Chromium is not here; as root it is installed. Undefined: it is here. */
export function chromiumProblem(): string | undefined {
  // Without a font a page has no text, and no width of its own.
  return packageProblem("chromium", () => execFileSync(PROGRAM, ["--version"], { stdio: "ignore" }), [
    "fonts-liberation",
  ]);
}

/** One for all scenes: each has a context of its own, with its own cookies. No name but of loopback resolves in it. */
export function startChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: PROGRAM,
    args: [
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
      ...["--disable-gpu", "--disable-background-networking", "--disable-component-update", "--no-first-run"],
    ],
  });
}
