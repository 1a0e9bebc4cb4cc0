import { printableLine } from "../../crds/printable.ts";
import { redactText } from "../../crds/redact.ts";
import { ApiError } from "../../kube/client/api-error.ts";

/** What an answer of the API server to an eviction, or to a deletion, means for the pod. */
export type Answer =
  | { readonly is: "accepted" }
  | { readonly is: "gone" }
  /** Another pod has its name now. */
  | { readonly is: "replaced" }
  | { readonly is: "budget"; readonly message: string }
  /** Several budgets select it: none is asked. */
  | { readonly is: "misconfigured" }
  | { readonly is: "busy"; readonly afterMs: number; readonly message: string }
  /** Its namespace is being deleted, and it with it. */
  | { readonly is: "ending" }
  | { readonly is: "error"; readonly message: string };

const BUSY_MS = 5_000;
const MAX_WORDS = 300;

/**
 * Reads a refusal. A budget's 429 says nothing of the pod: it is checked before the precondition, so that the pod of this
 * uid may be gone already. Whether it is, the cache tells.
 *
 * @throws `error` when it is no answer of an API server.
 */
export function answerOf(error: unknown): Answer {
  if (!(error instanceof ApiError)) throw error;
  const causes = error.body?.details?.causes ?? [];
  const cause = (reason: string): { readonly message?: string } | undefined =>
    causes.find((each) => each.reason === reason);
  if (error.status === 429) {
    const budget = cause("DisruptionBudget");
    if (budget !== undefined) return { is: "budget", message: words(budget.message ?? error.message) };
    return { is: "busy", afterMs: error.retryAfterMs ?? BUSY_MS, message: words(error.message) };
  }
  if (error.isNotFound) return { is: "gone" };
  if (error.isConflict) return { is: "replaced" };
  if (cause("NamespaceTerminating") !== undefined) return { is: "ending" };
  // It has no reason and no cause: the text is all that tells it from a broken server.
  if (error.status === 500 && /more than one PodDisruptionBudget/.test(error.message)) return { is: "misconfigured" };
  return { is: "error", message: words(error.message) };
}

function words(text: string): string {
  return redactText(printableLine(text, MAX_WORDS), () => undefined);
}
