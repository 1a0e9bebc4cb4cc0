import { type JoinFields, readJoinString } from "../../../contract/machines/join-string.ts";
import { FriendlyError } from "../../kernel/command.ts";

/** What is done with a join string, for standard error. The pin is the customer's to say: a platform can name its own. */
export const NEXT_STEPS = `on the box, with the join string in the file ./join (mode 0600), that line asks to join
first compare the pin in it with the customer's: kubectl get mpool -n sallyport-grants -o wide
`;

/**
 * The line to run on a box. The secret is not in it: it would be in the shell's history and in the list of processes.
 * Every value was checked by `readJoinString`, so that no sign of it ends a quote.
 */
export function joinLine({ url, pin }: Pick<JoinFields, "url" | "pin">): string {
  return `curl -fsS --pinnedpubkey '${pin}' -k '${url}/v1/script' | sudo sh -s -- --token-file ./join`;
}

/** @throws FriendlyError when it is no join string, or is over; the text is not quoted, because it may be a secret */
export function usableFields(text: string, now: Date): JoinFields {
  const fields = readJoinString(text.trim());
  if (fields === undefined) throw new FriendlyError("this is no join string: they begin with spj1_");
  if (fields.exp * 1000 <= now.getTime()) {
    throw new FriendlyError(
      `this join string is over since ${new Date(fields.exp * 1000).toISOString()}: make another`,
    );
  }
  return fields;
}
