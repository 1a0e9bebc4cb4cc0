/** Limits how much one tenant may use of a resource that tenants share. */
export interface Budget {
  /**
   * `rows`: stored rows, counted in the transaction that adds them; `hourly`: rows written in the last hour; `seats`:
   * requests or connections held now, counted in this process.
   */
  readonly kind: "rows" | "hourly" | "seats";
  /** What is counted, in the plural. */
  readonly what: string;
  /** Kind of tenant that the budget limits. */
  readonly tenant: string;
  readonly size: number;
  /**
   * A refusal for rows is a 400, or the code that §0.9 of the API names. A refusal that time alone cures is a 429 with
   * Retry-After.
   */
  readonly code: "VALIDATION_ERROR" | "BUDGET_EXCEEDED" | "RATE_LIMITED";
  /** Tells the caller how to free space in the budget. */
  readonly hint: string;
  /**
   * Nothing is refused. The platform drops the new entry, or drops the oldest one to make space, and counts the drop.
   */
  readonly drops?: true;
}

type Spec = Omit<Budget, "kind" | "code">;

/** A limit of §0.9 of the API. */
export function limit<const T extends Spec>(spec: T) {
  return { kind: "rows", code: "VALIDATION_ERROR", ...spec } as const satisfies Budget;
}

export function rows<const T extends Spec>(spec: T) {
  return { kind: "rows", code: "BUDGET_EXCEEDED", ...spec } as const satisfies Budget;
}

export function hourly<const T extends Spec>(spec: T) {
  return { kind: "hourly", code: "RATE_LIMITED", ...spec } as const satisfies Budget;
}

export function seats<const T extends Spec>(spec: T) {
  return { kind: "seats", code: "RATE_LIMITED", ...spec } as const satisfies Budget;
}
