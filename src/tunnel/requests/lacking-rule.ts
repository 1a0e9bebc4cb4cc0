import type { Subject } from "./subject.ts";

/** As the API server's authorizer says it; an admission policy of the customer's refuses in words of its own. */
const OF_AUTHORIZER = /\bcannot (get|list|watch|create) resource\b/;

/** What the API server refused to a session's account, as one question to its authorizers. */
export interface RefusedRight {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

/**
 * Notes a request that the session's mode allows and the API server refused to its account: a rule may have been taken from
 * the mode's role. A 403 alone does not say so: the server of an aggregated API answers one for reasons of its own, and
 * an API server that has just started refuses everything.
 *
 * @param words of the refusal, where they were read. An older API server asks for another verb than the request has.
 */
export function noteAnswer(
  counts: { refused: RefusedRight | undefined },
  subject: Subject | undefined,
  status: number,
  words?: string,
): void {
  const [, said] = words === undefined ? [] : (OF_AUTHORIZER.exec(words) ?? []);
  if (subject === undefined || status !== 403 || (words !== undefined && said === undefined)) return;
  const { verb, group, resource, subresource, namespace, name } = subject;
  counts.refused = {
    ...{ verb: said ?? verb, group, resource },
    ...(subresource !== undefined && { subresource }),
    ...(namespace !== undefined && { namespace }),
    ...(name !== undefined && { name }),
  };
}
