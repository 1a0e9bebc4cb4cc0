import { COMMON } from "../area-help.ts";
import { describeExitCodes } from "../exit-codes.ts";

const OVERVIEW = `usage: sallyport debug open DEPLOYMENT -n NAMESPACE --mode exec --reason TEXT [--wait]
       sallyport debug attach|status|stop ID
       sallyport debug audit|recording ID [--to FILE]
       sallyport debug verify FILE [--head HEX]
       sallyport debug list

Plain kubectl in a customer's cluster: in one namespace and one mode, for a time, with the customer's approval.
`;

const OPEN = `usage: sallyport debug open DEPLOYMENT -n NAMESPACE --mode MODE --reason TEXT [options]
       sallyport debug open --request AR-ID [options]

Makes a key, asks the customer to let that key in, and opens the session: a shell whose KUBECONFIG leads into the
cluster. The session ends with the shell, with Ctrl-C, or when the customer or the platform ends it.

  -n, --namespace NAME  the one namespace
  --mode MODE           logs, read, exec or port-forward
  --minutes N           how long at most, 1 to 480; default 60
  --reason TEXT         for the customer, at least ten characters
  --port N              port-forward: only to this port; several times
  --selector LABELS     only pods with these labels, such as app=api
  --wait                waits for the approval and goes on; without it, prints the line that goes on later
  --request AR-ID       goes on with what was asked for earlier on this machine, and waits
  --auto                without an approval, where the workspace and the customer's policy need none
  --accept-stale        asks though the resources were last observed more than 180 s ago (exec)
  --print-kubeconfig    instead of a shell: prints the kubeconfig's path, and serves until Ctrl-C
${COMMON}

Examples:
  sallyport debug open dep_… -n shop --mode exec --minutes 30 --reason "500s since 14:02" --wait
  sallyport debug open dep_… -n shop --mode port-forward --port 8080 --reason "heap dump of the api" --wait
  sallyport debug open --request ar_… --print-kubeconfig          # serves; in another terminal: export KUBECONFIG=<that path>

Exit codes:
${describeExitCodes()}
`;

const ATTACH = `usage: sallyport debug attach ID [--print-kubeconfig] [--accept-new-tunnel=KEY]

Connects again to a session that was opened on this machine, as after a restart of it. What was open then is lost.

  --print-kubeconfig        instead of a shell: prints the kubeconfig's path, and serves until Ctrl-C
  --accept-new-tunnel=KEY   when the tunnel's key is another than at first: KEY is what the customer reads, by phone, with
                            kubectl get dbg dbg-… -n sallyport-grants -o jsonpath={.status.tunnel.key}

${COMMON}
`;

const STATUS = `usage: sallyport debug status ID

The session's state, who is in it and what for, who approved, until when, and after its end: the bytes towards the cluster
(bytesIn) and back, why it ended, and the head of its audit file.

${COMMON}
`;

const STOP = `usage: sallyport debug stop ID

Ends a session, also while an engineer is in it. It answers with the status.

${COMMON}
`;

const AUDIT = `usage: sallyport debug audit ID [--to FILE]

What the customer's cluster wrote down of a session, after its end: a line for each request. On a terminal, control
characters are shown as their codes. Check the file with sallyport debug verify FILE.

${COMMON}
`;

const RECORDING = `usage: sallyport debug recording ID [--to FILE]

What the terminals of a session showed, after its end: one asciicast v2 of all its execs, for the engineer who asked for
the session and for admins. It is compared with the size and the SHA-256 in the session's audit. Exit code 11: it is
another file.

Play it with asciinema: --to session.cast, then asciinema play session.cast. Markers say which exec begins, ends, and whose
the output is when several run at once; asciinema play --pause-on-markers stops at each.

${COMMON}
`;

const VERIFY = `usage: sallyport debug verify FILE [--head HEX]

Checks an audit file: each record names the one before, so that an edit, a gap, a swap or a cut is found and told with its
line. HEX is the SHA-256 of the last record, from debug status or from the customer's kubectl get dbg -o yaml.
Exit code 11: it is damaged. 12: it is whole up to HEX and goes on after it, as when the tunnel died before it could tell of
its last records; nothing outside of the file vouches for those.
`;

const TEXTS: Readonly<Record<string, string>> = {
  "": OVERVIEW,
  open: OPEN,
  attach: ATTACH,
  status: STATUS,
  stop: STOP,
  audit: AUDIT,
  recording: RECORDING,
  verify: VERIFY,
};

/** Undefined for a verb that is a single call; "" is the overview. */
export function debugHelp(verb: string | undefined): string | undefined {
  return verb === undefined || !Object.hasOwn(TEXTS, verb) ? undefined : TEXTS[verb];
}
