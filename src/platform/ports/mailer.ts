export interface Mail {
  readonly to: string;
  readonly subject: string;
  /** Plain text: it cannot run code, load content or hide anything. */
  readonly text: string;
}

/** Sends mail from the platform. */
export interface Mailer {
  /** Resolves when the next server has accepted the mail. Its errors contain no address and no text of the mail. */
  send(mail: Mail, signal: AbortSignal): Promise<void>;
}
