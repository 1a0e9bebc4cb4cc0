import { createTransport } from "nodemailer";
import type { Mailer } from "../ports/mailer.ts";

export interface SmtpSettings {
  /** `smtp://user:password@host:port` or `smtps://…`. */
  readonly url: string;
  /** Sender address of the mails. */
  readonly from: string;
}

/** How long a mail server may take to answer: the courier sends one mail at a time. */
const PATIENCE_MS = 20_000;

/** Opens a connection for each mail: mails are rare, and an idle connection could break unnoticed. */
export function smtpMailer({ url, from }: SmtpSettings): Mailer {
  const transport = createTransport({
    url,
    // The password must not be sent unencrypted: the server must offer STARTTLS, or the URL must be smtps://.
    requireTLS: new URL(url).password !== "",
    connectionTimeout: PATIENCE_MS,
    greetingTimeout: PATIENCE_MS,
    socketTimeout: PATIENCE_MS,
    // The text of a mail must not make the platform read a file or an address.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send({ to, subject, text }, signal) {
      signal.throwIfAborted();
      try {
        await transport.sendMail({ from, to, subject, text });
      } catch (error) {
        // The server's own text may contain the address; its code does not.
        const { code, responseCode } = error as { readonly code?: string; readonly responseCode?: number };
        // biome-ignore lint/style/useErrorCause: a logged cause would contain that text.
        throw new Error(`the mail server refused: ${[code, responseCode].filter(Boolean).join(" ") || "no reason"}`);
      }
    },
  };
}
