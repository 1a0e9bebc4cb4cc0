import { createHash } from "node:crypto";
import { sql } from "kysely";
import { STALE_AFTER_MS } from "../../../contract/resources/resource-heartbeat.ts";
import type { Call } from "../../kernel/call/call.ts";
import type { Reach } from "./store.ts";

type Context = Pick<Call, "db" | "now" | "principal" | "ifNoneMatch">;

/** To be raised when an answer gets another form from the same rows. */
const FORM = 4;

/**
 * Names a list of resources by its ETag (§11.2): who reads it, which deployments are in it, the version of each one's
 * reports, and until when the words on staleness hold. The rows themselves are not read for it, so that a client which
 * polls a list costs one short statement.
 */
export class ListTag {
  readonly #state: string;
  readonly #known: string | undefined;

  private constructor(state: string, known: string | undefined) {
    this.#state = state;
    this.#known = known;
  }

  static async of({ db, now, principal, ifNoneMatch }: Context, reach: Reach): Promise<ListTag> {
    const { rows } = await sql<{ state: string | null }>`
      select encode(sha256(convert_to(string_agg(
        concat_ws(' ', d.id, d.name, g.id, g.name, d.resources_version), E'\n' order by d.id), 'UTF8')), 'hex') as state
      from deployments d
      join deployment_groups g on g.id = d.deployment_group_id
      where d.status <> 'deleted' and ${reach.within}`.execute(db);
    // Callers with other rights have other tags, also where they see the same today.
    const { workspaceId, role } = principal;
    const scope = principal.kind === "serviceAccount" ? principal.scope : null;
    const { resourceType = null, name = null } = reach;
    const parts = [FORM, workspaceId, role, scope, resourceType, name, rows[0]?.state ?? null];
    const state = createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
    return new ListTag(state, tagsIn(ifNoneMatch).find((tag) => holds(tag, state, now))?.text);
  }

  /** The headers of a 304; undefined when the caller does not have the list as it is. */
  get known(): Readonly<Record<string, string>> | undefined {
    return this.#known === undefined ? undefined : headersOf(this.#known);
  }

  /** @param nextStale `next_stale` of any row; undefined when there is none. */
  headers(nextStale: Date | null | undefined): Readonly<Record<string, string>> {
    const until = nextStale == null ? NEVER : Math.floor(nextStale.getTime() + STALE_AFTER_MS).toString(36);
    return headersOf(`"${this.#state}.${until}"`);
  }
}

/** All is stale already, or there is nothing that could become so. */
const NEVER = "never";
/** Most clients send the one that they have. */
const MAX_TAGS = 10;
const TAG = /^(?:W\/)?("([A-Za-z0-9_-]{43})\.(never|[0-9a-z]{1,10})")$/;

interface Tag {
  readonly text: string;
  readonly state: string;
  readonly until: string;
}

function tagsIn(header: string | undefined): readonly Tag[] {
  const words = header?.split(",", MAX_TAGS) ?? [];
  return words.flatMap((word) => {
    const [, text, state, until] = TAG.exec(word.trim()) ?? [];
    return text === undefined || state === undefined || until === undefined ? [] : [{ text, state, until }];
  });
}

/** At its last instant a report is still fresh (§11.1). A client that changes the instant misleads only itself. */
function holds({ state, until }: Tag, current: string, now: Date): boolean {
  return state === current && (until === NEVER || now.getTime() <= Number.parseInt(until, 36));
}

/** May be kept, and is asked for each time. */
function headersOf(etag: string): Readonly<Record<string, string>> {
  return { etag, "cache-control": "private, no-cache", vary: "authorization, cookie" };
}
