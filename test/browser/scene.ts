import { readFile } from "node:fs/promises";
import type axe from "axe-core";
import type { Browser, BrowserContext, Page } from "playwright-core";

/** The narrowest telephone. */
const NARROW = 360;
const SIZE = { width: 1000, height: 800 };

/**
 * One person's browser window, and all that goes wrong in it: errors on the console, exceptions, breaches of the
 * Content-Security-Policy, requests to hosts that the scene does not name, and a focus that Tab moves and nothing shows.
 */
export class Scene {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly troubles: string[] = [];
  /** Every address asked for, with its fragment left out, as the browser sends it. */
  readonly asked: string[] = [];
  readonly #hosts: ReadonlySet<string>;

  private constructor(context: BrowserContext, page: Page, hosts: readonly string[]) {
    this.context = context;
    this.page = page;
    this.#hosts = new Set(hosts.map((each) => new URL(each).host));
  }

  static async open(browser: Browser, hosts: readonly string[], scripts = true): Promise<Scene> {
    const context = await browser.newContext({ viewport: SIZE, javaScriptEnabled: scripts, colorScheme: "light" });
    // For what hangs. A machine that is busy with other work takes ten times as long as a quiet one.
    context.setDefaultTimeout(150_000);
    const scene = new Scene(context, await context.newPage(), hosts);
    await scene.#watch();
    return scene;
  }

  async #watch(): Promise<void> {
    const { context, page, troubles } = this;
    context.on("request", (request) => {
      const url = new URL(request.url());
      this.asked.push(request.url());
      if (url.protocol !== "data:" && !this.#hosts.has(url.host)) troubles.push(`asked ${request.url()}`);
    });
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) troubles.push(`${message.type()}: ${message.text()}`);
    });
    page.on("pageerror", (error) => void troubles.push(`threw: ${error.message}`));
    page.on("dialog", (dialog) => {
      troubles.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
  }

  /**
   * Breaches of rules that axe calls serious or critical, as `rule: target`.
   *
   * @param schemes those that the page has colours for
   */
  async axe(schemes: readonly ("light" | "dark")[] = ["light", "dark"]): Promise<readonly string[]> {
    const found = new Set<string>();
    for (const colorScheme of schemes) {
      await this.page.emulateMedia({ colorScheme });
      for (const each of await this.#axeNow()) found.add(`${each} (${colorScheme})`);
    }
    await this.page.emulateMedia({ colorScheme: "light" });
    return [...found];
  }

  async #axeNow(): Promise<readonly string[]> {
    const { page } = this;
    // Not as a script of the page, which its policy would refuse.
    if (!(await page.evaluate("'axe' in window"))) await page.evaluate(await axeSource());
    const { violations } = (await page.evaluate("axe.run({ resultTypes: ['violations'] })")) as axe.AxeResults;
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary}`),
      );
  }

  /** By how many pixels the page is wider than a narrow telephone. */
  async tooWideBy(): Promise<number> {
    const { page } = this;
    await page.setViewportSize({ width: NARROW, height: SIZE.height });
    const width = (await page.evaluate("document.documentElement.scrollWidth")) as number;
    await page.setViewportSize(SIZE);
    return width - NARROW;
  }

  /** What Tab reaches, in its order: names, with ` (not seen)` where the focus leaves no mark. */
  async tabOrder(): Promise<readonly string[]> {
    const names: string[] = [];
    await this.page.evaluate("document.activeElement?.blur()");
    for (let count = 0; count < 60; count += 1) {
      await this.page.keyboard.press("Tab");
      const focused = (await this.page.evaluate(FOCUSED)) as { readonly name: string; readonly isSeen: boolean } | null;
      if (focused === null) break;
      names.push(focused.isSeen ? focused.name : `${focused.name} (not seen)`);
    }
    return names;
  }

  /** Goes with Tab to what has this name, and presses Enter there. */
  async enterOn(name: string | RegExp): Promise<void> {
    await this.#tabTo(name);
    await this.page.keyboard.press("Enter");
  }

  /** Goes with Tab to the field of this label, and types. */
  async typeInto(label: string, text: string): Promise<void> {
    await this.#tabTo(label);
    await this.page.keyboard.type(text);
  }

  async #tabTo(name: string | RegExp): Promise<void> {
    for (let count = 0; count < 60; count += 1) {
      const focused = (await this.page.evaluate(FOCUSED)) as { readonly name: string; readonly isSeen: boolean } | null;
      if (focused?.isSeen === false) this.troubles.push(`the focus is not seen on: ${focused.name}`);
      if (focused !== null && (typeof name === "string" ? focused.name === name : name.test(focused.name))) return;
      await this.page.keyboard.press("Tab");
    }
    throw new Error(`Tab reaches nothing that is called ${name}`);
  }

  async close(): Promise<void> {
    await this.context.close();
  }
}

/**
 * In the page: what has the focus, by its label, text or hint, and whether a mark of at least 2 pixels shows it. A mark around
 * nothing is none.
 */
const FOCUSED = `(() => {
  const at = document.activeElement;
  if (at === null || at === document.body || at === document.documentElement) return null;
  const style = getComputedStyle(at);
  const { width, height } = at.getBoundingClientRect();
  const text = at.getAttribute("aria-label") ?? at.labels?.[0]?.textContent ?? at.textContent;
  const name = text || at.title || at.placeholder || "";
  const isSeen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 && width > 1 && height > 1;
  return { name: name.trim(), isSeen };
})()`;

let source: Promise<string> | undefined;

function axeSource(): Promise<string> {
  source ??= readFile(new URL(import.meta.resolve("axe-core/axe.min.js")), "utf8");
  return source;
}
