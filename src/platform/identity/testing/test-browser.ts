/** A page or an answer, and the address that it has in the end. */
export interface Seen {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

interface Cookie {
  readonly value: string;
  readonly path: string;
}

/** What a browser does with cookies, redirects, `Refresh` and forms; no scripts. One per person. */
export class TestBrowser {
  /** By host, name and path. */
  readonly #cookies = new Map<string, Cookie>();
  /** Sites that it does not ask: there a redirect ends, as at a client's loopback address. */
  readonly #stopsAt: (url: URL) => boolean;

  readonly #fetch: typeof fetch;

  constructor(stopsAt: (url: URL) => boolean = () => false, send: typeof fetch = fetch) {
    this.#stopsAt = stopsAt;
    this.#fetch = send;
  }

  cookie(url: string, name: string): string | undefined {
    const [, cookie] = [...this.#cookies].find(([key]) => key.startsWith(`${new URL(url).host} ${name} `)) ?? [];
    return cookie?.value;
  }

  get(url: string | URL, headers: Readonly<Record<string, string>> = {}): Promise<Seen> {
    return this.#go(new URL(url), { method: "GET", headers });
  }

  /** Sends the form on `page` that has all of these fields or is named by its action. */
  submit(page: Seen, fields: Readonly<Record<string, string>>, action?: string): Promise<Seen> {
    const form = formsOf(page).find(
      (each) => action === undefined || new URL(each.action, page.url).pathname === action,
    );
    if (form === undefined) throw new Error(`no such form on ${page.url}:\n${page.text}`);
    const url = new URL(form.action, page.url);
    return this.#go(url, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded", origin: new URL(page.url).origin },
      body: new URLSearchParams({ ...form.hidden, ...fields }).toString(),
    });
  }

  async #go(start: URL, first: RequestInit): Promise<Seen> {
    let [url, init] = [start, first];
    for (let step = 0; step < 20; step += 1) {
      const cookie = this.#header(url);
      const headers = { ...(init.headers as Record<string, string>), ...(cookie !== "" && { cookie }) };
      const response = await this.#fetch(url, { ...init, headers, redirect: "manual" });
      this.#keep(url, response.headers.getSetCookie());
      const text = await response.text();
      const next = response.headers.get("location") ?? response.headers.get("refresh")?.split("url=")[1];
      const seen = { url: url.href, status: response.status, headers: response.headers, text };
      if (next === undefined || next === null) return seen;
      url = new URL(next, url);
      if (this.#stopsAt(url)) return { ...seen, url: url.href };
      init = { method: "GET", headers: {} };
    }
    throw new Error(`redirects without end, at ${url}`);
  }

  #header(url: URL): string {
    return [...this.#cookies]
      .filter(([key, { path }]) => key.startsWith(`${url.host} `) && url.pathname.startsWith(path))
      .map(([key, { value }]) => `${key.split(" ")[1]}=${value}`)
      .join("; ");
  }

  #keep(url: URL, lines: readonly string[]): void {
    for (const line of lines) {
      const [pair = "", ...attributes] = line.split(/; */);
      const at = pair.indexOf("=");
      const attribute = (name: string): string | undefined =>
        attributes.find((each) => each.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1);
      const expires = attribute("expires");
      const over = attribute("max-age") === "0" || (expires !== undefined && Date.parse(expires) < Date.now());
      const path = attribute("path") ?? "/";
      const key = `${url.host} ${pair.slice(0, at)} ${path}`;
      if (over) this.#cookies.delete(key);
      else this.#cookies.set(key, { value: pair.slice(at + 1), path });
    }
  }
}

function formsOf(page: Seen): { action: string; hidden: Record<string, string> }[] {
  return [...page.text.matchAll(/<form method="post" action="([^"]*)">([\s\S]*?)<\/form>/g)].map(
    ([, action = "", body = ""]) => ({
      action: unescaped(action),
      hidden: Object.fromEntries(
        [...body.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(([, name = "", value = ""]) => [
          name,
          unescaped(value),
        ]),
      ),
    }),
  );
}

function unescaped(text: string): string {
  return text.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
}
