import type { Subject } from "./subject.ts";

/** As the API server's authorizer says it; an admission policy of the customer's refuses in words of its own. */
const OF_AUTHORIZER = /\bcannot (get|list|watch|create) resource\b/;

/**
 * Notes a request that the session's mode allows and the API server refused to its account: a rule was taken from the
 * mode's role. The note goes when the API server answers a request of the same form.
 *
 * @param words of the refusal, where they were read. What only reads is refused by the authorizer alone.
 */
export function noteAnswer(
  counts: { forbidden: string | undefined },
  subject: Subject | undefined,
  status: number,
  words?: string,
): void {
  if (subject === undefined) return;
  const { verb, resource, subresource } = subject;
  const what = `${verb} ${resource}${subresource === undefined ? "" : `/${subresource}`}`;
  if (status === 403 && (words === undefined || OF_AUTHORIZER.test(words))) counts.forbidden = what;
  else if (status < 400 && counts.forbidden === what) counts.forbidden = undefined;
}
