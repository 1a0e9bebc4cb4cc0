import { COMMON } from "../area-help.ts";
import { describeExitCodes } from "../exit-codes.ts";

const OVERVIEW = `usage: sallyport machines list DEPLOYMENT [--watch]
       sallyport machines token create|list|rotate DEPLOYMENT
       sallyport machines token revoke DEPLOYMENT TOKEN
       sallyport machines drain DEPLOYMENT MACHINE [--deadline 1h] [--force] [--reason TEXT] [--watch]
       sallyport machines cancel DEPLOYMENT MACHINE
       sallyport machines remove DEPLOYMENT MACHINE [--reason TEXT] [--watch]
       sallyport machine join FILE

Machines of a customer's cluster: how they join, what they hold, how they are emptied and leave. The controller that does it
in the cluster is another command, sallyport machine-controller.
`;

const LIST = `usage: sallyport machines list DEPLOYMENT [--watch]

One line a machine, with what holds it up, and where new ones join.

  --watch               again and again, until Ctrl-C
${COMMON}
`;

const MINTED = `  --expires TIME        how long it works, 1m to 7d; default 1h
  --max-joins N         for how many machines, 1 to 1000; default 10
  --out FILE            writes the join string to this new file, mode 0600
  --print               writes the join string to standard output
${COMMON}

The line to run on a box has the join server's address and the pin of its key, never the secret. Compare the pin with what the
customer sees: kubectl get mpool -n sallyport-grants -o wide
`;

const CREATE = `usage: sallyport machines token create DEPLOYMENT (--out FILE | --print) [--expires 1h] [--max-joins 10]

Makes a join string, and prints the line with which a box asks to join; earlier tokens keep working. One of --out and --print says
where the secret goes.

${MINTED}`;

const ROTATE = `usage: sallyport machines token rotate DEPLOYMENT (--out FILE | --print) [--grace 10m]

Revokes every token of the deployment and makes a new one; machines that have joined stay.

  --grace TIME          how long the old ones still work, at most 1h; default 0
${MINTED}`;

const TOKENS = `usage: sallyport machines token list DEPLOYMENT

Its join tokens, newest first; never their secrets.

${COMMON}
`;

const REVOKE = `usage: sallyport machines token revoke DEPLOYMENT TOKEN

Ends one token, by the id that the list shows; machines that have joined with it stay.

${COMMON}
`;

const DRAIN = `usage: sallyport machines drain DEPLOYMENT MACHINE [--deadline 1h] [--force] [--reason TEXT] [--watch]

Empties a machine by evictions that respect every budget. A second drain can only hasten the first.

  --deadline TIME       when waiting ends; 0 means now, and not never. Left out: the pool's own
  --force               at the deadline delete what is left, if the customer's pool allows it
  --reason TEXT         asks the customer for an approval of this drain, for policies that need one; at least ten characters
  --watch               prints a line for each change, until it is empty: who is in the way, since when, and what would help
  --timeout TIME        stops watching after this time, such as 30m; exit code 9, and the drain goes on
${COMMON}

With --watch it exits with 0 when the machine is drained, with 8 when the drain was cancelled or the customer said no.

Exit codes:
${describeExitCodes()}
`;

const CANCEL = `usage: sallyport machines cancel DEPLOYMENT MACHINE

Cancels a drain: the machine takes work again. Pods that have left stay where they went.

${COMMON}
`;

const REMOVE = `usage: sallyport machines remove DEPLOYMENT MACHINE [--reason TEXT] [--watch]

Removes a machine that is drained, or that has been gone for three minutes. It cannot come back under its name with its old key.

  --reason TEXT         asks the customer for an approval of this removal; at least ten characters
  --accept-stale        asks though the resources were last observed more than 180 s ago
  --watch               follows it until the machine is gone
  --timeout TIME        stops watching after this time; exit code 9
${COMMON}
`;

const JOIN = `usage: sallyport machine join FILE

Prints the line to run on a box for a join string in FILE; - is standard input. It asks no platform, and prints no secret.

  -o table|json|yaml    form of the answer
`;

const TEXTS: Readonly<Record<string, string>> = {
  "": OVERVIEW,
  list: LIST,
  "token create": CREATE,
  "token rotate": ROTATE,
  "token list": TOKENS,
  "token revoke": REVOKE,
  drain: DRAIN,
  cancel: CANCEL,
  remove: REMOVE,
  join: JOIN,
};

/** @param summary of the call behind it, which says the rule */
export function machinesHelp(verb: string, summary: string): string {
  const text = TEXTS[verb] ?? OVERVIEW;
  return summary === "" ? text : `${text}\nThe API says: ${summary}\n`;
}
