import { errorText, printableLine } from "../../../crds/printable.ts";
import { ApiError } from "../../../kube/client/api-error.ts";

/** Longest message of one refusal. */
const MAX_MESSAGE = 512;
/** Fields named of one object that the API server finds wrong. */
const MAX_CAUSES = 5;

/** What the API server has against an object, for people. What a field held is not quoted: it may be a value to hide. */
export function refusalText(error: unknown): string {
  if (!(error instanceof ApiError)) return errorText(error, MAX_MESSAGE);
  const causes = (error.body?.details?.causes ?? []).filter(({ field }) => field !== undefined && field !== "");
  if (!error.isInvalid || causes.length === 0) return printableLine(error.body?.message ?? error.message, MAX_MESSAGE);
  const said = causes.slice(0, MAX_CAUSES).map((cause) => `${cause.field}: ${causeText(cause)}`);
  const more = causes.length > MAX_CAUSES ? [`and ${causes.length - MAX_CAUSES} more fields`] : [];
  return printableLine([...said, ...more].join("; "), MAX_MESSAGE);
}

const BY_REASON: Readonly<Record<string, string>> = {
  FieldValueDuplicate: "it is there twice",
  FieldValueNotSupported: "a value that is not supported",
  FieldValueNotFound: "it does not exist",
  FieldValueTooLong: "it is too long",
  FieldValueTooMany: "there are too many",
};

/** `Invalid value: {…}: field is immutable`: only what stands behind the value. */
function causeText({ reason = "", message = "" }: { readonly reason?: string; readonly message?: string }): string {
  const known = BY_REASON[reason];
  if (known !== undefined) return known;
  const at = message.lastIndexOf(": ");
  return at < 0 ? "it is invalid" : message.slice(at + 2, at + 202);
}
