/**
 * How long an approval holds, in words. Both numbers are facts: what the approver typed is frozen in the request, and the customer's
 * policies may allow less.
 */
export function minutesText(asked: number, held: number): string {
  return held < asked ? `${held} minutes (${asked} were asked for; the policy allows ${held})` : `${asked} minutes`;
}
