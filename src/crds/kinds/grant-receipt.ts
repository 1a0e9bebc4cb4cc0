import Type from "typebox";
import { Digest, type Rule, rules, Sequence, unchanged } from "../schema.ts";

/** CEL: `isSettled` of receipt.ts. */
const settled = (status: string): string =>
  `has(${status}.endedAt) && has(${status}.state) && !(${status}.state in ['Pending', 'Approved']) && ` +
  `(!has(${status}.commands) || ${status}.commands.all(c, !(c.state in ['Starting', 'Running'])))`;

const IDENTITY_STAYS =
  "!has(oldSelf.conditions) || oldSelf.conditions.all(o, o.type != 'IdentityVerified' || (has(self.conditions) && " +
  "self.conditions.exists(n, n.type == o.type && n.status == o.status && n.reason == o.reason)))";

export const GrantReceipt = Type.Object(
  { sequence: Sequence, previous: Type.Optional(Digest), digest: Digest },
  {
    description:
      "Of the receipt of this grant: its number among those of the deployment, the digest before it, and its own.",
    ...rules(
      { rule: "self == oldSelf", message: "a receipt is written once" },
      {
        rule: "has(self.previous) == (self.sequence > 1)",
        message: "each receipt but the first names the one before it",
      },
    ),
  },
);

/** On the status: a receipt comes after the end, and what it says of the status does not change from then on. */
export const RECEIPT_RULES: readonly Rule[] = [
  { rule: "!has(oldSelf.receipt) || has(self.receipt)", message: "a receipt is written once" },
  {
    rule: `!has(self.receipt) || (${settled("self")})`,
    message: "a receipt is of a grant that has ended and of which nothing runs",
  },
  {
    rule: `!(${settled("oldSelf")}) || (${["endedAt", "commands"].map(unchanged).join(" && ")} && (${IDENTITY_STAYS}))`,
    message: "this grant has ended: what its receipt says does not change",
  },
];

/** On the grant: no decision after the end. */
export function decidedBeforeTheEnd(fields: readonly string[]): Rule {
  const same = fields.map((field) => `(${unchanged(`spec.${field}`)})`).join(" && ");
  return {
    rule: `!has(oldSelf.status) || !(${settled("oldSelf.status")}) || (${same})`,
    message: "this grant has ended; ask for a new one",
  };
}

/** The last receipt of a deployment, and whose it is. */
export const ReceiptHead = Type.Object(
  {
    sequence: Sequence,
    previous: Type.Optional(Digest),
    digest: Digest,
    grant: Type.String({ maxLength: 63 }),
    grantUid: Type.String({ maxLength: 64 }),
  },
  {
    description:
      "Written by the operator: the last receipt of this deployment's grants. The next one names its digest.",
    ...rules({
      rule: "self == oldSelf || (self.sequence == oldSelf.sequence + 1 && has(self.previous) && self.previous == oldSelf.digest)",
      message: "a chain of receipts only goes on, by one that names the one before it",
    }),
  },
);

export const HEAD_STAYS: Rule = {
  rule: "!has(oldSelf.receipts) || has(self.receipts)",
  message: "the last receipt cannot be dropped from status",
};
