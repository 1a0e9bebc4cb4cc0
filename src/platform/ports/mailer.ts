export interface Mail {
  readonly to: string;
  readonly subject: string;
  /** Plain text: nothing in it can run, load or hide. */
  readonly text: string;
}

/** How mail leaves the platform. */
export interface Mailer {
  /** Resolves once the next server has taken the mail over. Its errors name no address and quote no text of the mail. */
  send(mail: Mail, signal: AbortSignal): Promise<void>;
}
