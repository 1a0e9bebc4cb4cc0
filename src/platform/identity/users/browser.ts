import type { FastifyReply, FastifyRequest } from "fastify";
import { setHeaders } from "../../kernel/call/answer.ts";
import type { Engine } from "../../kernel/call/execute.ts";
import { PlatformError } from "../../kernel/errors.ts";
import type { Page } from "../../kernel/web-page.ts";
import { liveSession, SESSION_COOKIE, SESSION_LIFE_MS, sessionOf } from "./session.ts";
import { type Site, siteOf } from "./site.ts";
import { createSession } from "./store.ts";

/** The signed-in user, found by the session cookie. */
export type SignedIn = NonNullable<Awaited<ReturnType<typeof liveSession>>>;

/** What all pages need of one browser: its cookies and its forms. */
export class Browser {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  get site(): Site {
    return siteOf(this.#engine.config);
  }

  async signedIn({ headers }: FastifyRequest): Promise<SignedIn | undefined> {
    const secret = sessionOf(headers);
    if (secret === undefined) return undefined;
    return liveSession(this.#engine.db, secret, this.#engine.clock.wallNow());
  }

  /** Creates a new session and never reuses the browser's old one, because an attacker may know its id. */
  async signIn(reply: FastifyReply, userId: string): Promise<void> {
    const secret = await createSession(this.#engine.db, userId, this.#engine.clock.wallNow());
    this.setCookie(reply, SESSION_COOKIE, secret, { maxAgeMs: SESSION_LIFE_MS, path: "/" });
  }

  setCookie(
    reply: FastifyReply,
    name: string,
    value: string,
    { maxAgeMs, path }: { readonly maxAgeMs: number; readonly path: string },
  ): void {
    const flags = `Path=${path}; Max-Age=${Math.floor(maxAgeMs / 1000)}; HttpOnly; SameSite=Lax`;
    const cookie = `${name}=${value}; ${flags}${this.site.secure ? "; Secure" : ""}`;
    const before = reply.getHeader("set-cookie");
    reply.header("set-cookie", before === undefined ? cookie : [before, cookie].flat().map(String));
  }

  clearCookie(reply: FastifyReply, name: string, path: string): void {
    this.setCookie(reply, name, "", { maxAgeMs: 0, path });
  }

  /**
   * Requires that an unsafe request comes from one of the platform's own pages.
   * @param required refuse also without `Origin`, which browsers always send with a form.
   * @throws CSRF_REJECTED.
   */
  checkOrigin({ headers }: FastifyRequest, required: boolean): void {
    const { origin } = headers;
    if (origin === undefined ? required : origin !== this.site.origin) throw new PlatformError("CSRF_REJECTED");
  }

  show(request: FastifyRequest, reply: FastifyReply, status: number, { html, headers }: Page): FastifyReply {
    setHeaders(this.#engine, request, reply, headers);
    return reply.code(status).type("text/html; charset=utf-8").send(html);
  }

  redirect(request: FastifyRequest, reply: FastifyReply, url: string, status: 302 | 303 = 302): FastifyReply {
    setHeaders(this.#engine, request, reply, { location: url });
    return reply.code(status).send();
  }
}

/** The fields of a form; undefined when the request has no form. */
export function formOf({ body, headers }: FastifyRequest): URLSearchParams | undefined {
  const isForm = /^application\/x-www-form-urlencoded\s*(;|$)/i.test(headers["content-type"] ?? "");
  return isForm ? new URLSearchParams(body instanceof Buffer ? body.toString("utf8") : "") : undefined;
}
