import { canonicalJson } from "../../crds/canonical-digest.ts";
import { objectName } from "../../crds/group.ts";
import { type AccessGrant, accessGrants } from "../../crds/kinds/access-grant.ts";
import { type DigestedReceipt, isSettled, linkedReceipt } from "../../crds/receipt.ts";
import type { Client } from "../../kube/client/client.ts";
import { type Command, FriendlyError, UsageError } from "../kernel/command.ts";
import { givenBytes, textOf } from "../kernel/given/given-file.ts";
import { escaped, formatOf, textOf as linesText, render } from "../kernel/output.ts";
import { CLUSTER_FLAGS_HELP, CODES, inCluster, typed } from "./customer-cluster.ts";
import { grantNamed } from "./grants.ts";
import { listed } from "./requests.ts";

const help = (usage: string): string => `usage: ${usage} NAME... [options]
       ${usage} --deployment ID [options]
       ${usage} verify FILE... [--head DIGEST]

The receipt of a request that is over: what was asked for, who decided, what ran as which account and how it ended, in one
document. A line each, in the bytes of which the digest is; the platform keeps the same ones. Each names the digest of the
receipt before it.

verify reads such files, with one receipt or many, also as -o json has them, and needs no cluster and no network. It names what was changed, left out
or put in another order. FILE may be - for what is piped in.

  --deployment ID       all receipts of one deployment, in their order: dep_…, or the name of its ManagedDeployment, dep-…
  --head DIGEST         verify: what the last receipt must be. Without it, the end of a chain may be missing unseen. It is
                        status.receipts.digest of the ManagedDeployment, or what the other side says
${CLUSTER_FLAGS_HELP}  -o, --output FORMAT   json or yaml, for reading; without it, a line each
  --help                this text

Exit codes:
  ${CODES.done}  done; verify: nothing is wrong
  ${CODES.failed}  failed here; verify: something is wrong
  ${CODES.usage}  called wrongly
  ${CODES.refused}  the API server does not allow it to you
  ${CODES.notFound}  no such request, or it has no receipt yet
  ${CODES.unavailable}  the API server could not be reached or cannot answer now: call it again
`;

const OPTIONS = {
  deployment: { type: "string" },
  head: { type: "string" },
  output: { type: "string", short: "o" },
} as const;

/** Most bytes of all files together: half a million receipts of a usual size. */
const MAX_BYTES = 256 * 1024 * 1024;

/** @param program `sallyport`, or `kubectl sallyport`: the same command under two names */
export function receiptCommand(program: string): Command {
  const usage = `${program} receipt`;
  return {
    name: "receipt",
    summary: "What became of a request, in one document; receipt verify checks such files.",
    help: async () => help(usage),
    async run(args, signal) {
      const { values, positionals } = typed(usage, args, OPTIONS);
      const [first, ...rest] = positionals;
      if (first === "verify") return await verified(rest, values);
      if ((first === undefined) === (values.deployment === undefined) || values.head !== undefined) {
        throw new UsageError(`name requests, or --deployment. See ${usage} --help`);
      }
      return await inCluster(values, async (client) => {
        const grants = await grantsFor(client, positionals, values, signal);
        process.stdout.write(await receiptsText(grants.map(receiptOf), values.output));
        return CODES.done;
      });
    },
  };
}

interface Wanted {
  readonly namespace: string;
  readonly deployment?: string | undefined;
}

async function grantsFor(
  client: Client,
  names: readonly string[],
  { namespace, deployment }: Wanted,
  signal: AbortSignal,
): Promise<readonly AccessGrant[]> {
  if (deployment === undefined) {
    const found: AccessGrant[] = [];
    for (const id of names) found.push(await grantNamed(client, { namespace, id }, signal));
    return found;
  }
  const all = await listed<AccessGrant>(client, accessGrants, namespace, signal);
  const linked = receiptsOf(all, deployment);
  if (linked.length === 0) throw new FriendlyError(`no receipt of ${deployment} is here`, { exitCode: CODES.notFound });
  return linked;
}

/** @param deployment its id, `dep_…`, or the name of its ManagedDeployment, `dep-…`: the same id in Kubernetes' spelling */
export function receiptsOf(grants: readonly AccessGrant[], deployment: string): readonly AccessGrant[] {
  const name = objectName(deployment);
  return grants
    .filter(({ spec, status }) => objectName(spec.deploymentId) === name && status?.receipt !== undefined)
    .toSorted((one, other) => numberOf(one) - numberOf(other));
}

function numberOf({ status }: AccessGrant): number {
  return status?.receipt?.sequence ?? 0;
}

/** @throws FriendlyError when there is none; or when the grant says something else than the operator has written */
function receiptOf(grant: AccessGrant): DigestedReceipt {
  const { name } = grant.metadata;
  const linked = linkedReceipt(grant);
  if (linked === undefined) {
    const why = isSettled(grant)
      ? "the operator has not written it yet"
      : "it is not over, or something of it still runs";
    throw new FriendlyError(`${name} has no receipt: ${why}`, { exitCode: CODES.notFound });
  }
  if (linked.digest !== grant.status?.receipt?.digest) {
    const told = `${grant.status?.receipt?.digest} stands in its status, ${linked.digest} is that of what it says`;
    throw new FriendlyError(`${name} does not say what its receipt says: ${told}`, { exitCode: CODES.failed });
  }
  return linked;
}

async function receiptsText(receipts: readonly DigestedReceipt[], output: string | undefined): Promise<string> {
  if (output === undefined) return receipts.map((each) => `${escaped(canonicalJson(each), "")}\n`).join("");
  return render(receipts.length === 1 ? receipts[0] : receipts, formatOf(output));
}

async function verified(
  files: readonly string[],
  { head, output }: { readonly head?: string | undefined; readonly output?: string | undefined },
): Promise<number> {
  if (files.length === 0) throw new UsageError("name files with receipts, or - for what is piped in");
  const { documentsIn, MAX_DOCUMENTS, verdictLines, verdictOn } = await import("./receipt-verdict.ts");
  let left = MAX_BYTES;
  const found = [];
  for (const name of files) {
    const bytes = await givenBytes(name, left);
    left -= bytes.length;
    for (const document of documentsIn(textOf(name, bytes), name)) found.push(document);
    if (found.length > MAX_DOCUMENTS)
      throw new FriendlyError(`more than ${MAX_DOCUMENTS} receipts; verify fewer at once`);
  }
  const verdict = verdictOn(found, head);
  process.stdout.write(
    output === undefined ? linesText(verdictLines(verdict)) : await render(verdict, formatOf(output)),
  );
  return verdict.holds ? CODES.done : CODES.failed;
}
