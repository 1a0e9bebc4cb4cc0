import { createTransport } from "nodemailer";
import type { Mailer } from "../ports/mailer.ts";

export interface SmtpSettings {
  /** `smtp://user:password@host:port` or `smtps://…`. */
  readonly url: string;
  /** What mails say they come from. */
  readonly from: string;
}

/** How long a mail server may be silent: the courier sends one mail at a time. */
const PATIENCE_MS = 20_000;

/** A connection a mail: invitations are rare, and an idle connection is one more thing that breaks. */
export function smtpMailer({ url, from }: SmtpSettings): Mailer {
  const transport = createTransport({
    url,
    // A password goes over no open line: the server must offer STARTTLS, or the URL be smtps://.
    requireTLS: new URL(url).password !== "",
    connectionTimeout: PATIENCE_MS,
    greetingTimeout: PATIENCE_MS,
    socketTimeout: PATIENCE_MS,
    // A mail is text that we wrote: nothing in it may make the platform read a file or an address.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send({ to, subject, text }, signal) {
      signal.throwIfAborted();
      try {
        await transport.sendMail({ from, to, subject, text });
      } catch (error) {
        // The server's own words may repeat the address; its code does not.
        const { code, responseCode } = error as { readonly code?: string; readonly responseCode?: number };
        // biome-ignore lint/style/useErrorCause: a logged cause would bring those words along.
        throw new Error(`the mail server refused: ${[code, responseCode].filter(Boolean).join(" ") || "no reason"}`);
      }
    },
  };
}
