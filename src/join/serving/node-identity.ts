import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { Refusal } from "../kernel/refusal.ts";

/**
 * The node whose certificate the other end has shown in this connection, and whose key it has proved to hold. TLS judged
 * the chain, the purpose and the time; the time is looked at again, as a resumed session is not judged anew.
 *
 * @throws Refusal
 */
export function nodeOf(socket: Socket, now: Date): string {
  const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  if (!(socket instanceof TLSSocket) || certificate === undefined) throw refused("show the node's client certificate");
  if (!socket.authorized) {
    const { authorizationError: why } = socket;
    throw refused(`the client certificate is not good for this cluster (${why instanceof Error ? why.message : why})`);
  }
  if (now < new Date(certificate.validFrom) || now >= new Date(certificate.validTo)) {
    throw refused("the client certificate has run out, or is not valid yet");
  }
  // Node writes one line for each part of the name, and escapes what could end one.
  const parts = certificate.subject.split("\n").toSorted();
  const name = /^CN=system:node:([a-z0-9][-a-z0-9]{0,62})$/.exec(parts[0] ?? "")?.[1];
  if (parts.length !== 2 || parts[1] !== "O=system:nodes" || name === undefined) {
    throw refused("the client certificate is not a node's");
  }
  return name;
}

function refused(words: string): Refusal {
  return new Refusal(401, "NO_NODE_CERTIFICATE", "certificate", words);
}
