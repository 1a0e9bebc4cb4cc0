import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { OpenDatabase } from "../database/open.ts";
import { Forwarder } from "./forward.ts";
import { Homes } from "./homes.ts";
import { Relay } from "./relay.ts";
import { SessionLog } from "./session-log.ts";
import { relayUpgrades, type UpgradeDeps } from "./upgrade.ts";

export interface RelayOptions extends Pick<UpgradeDeps, "engine" | "limiter" | "trustedProxies" | "log"> {
  readonly peerUrl: string | undefined;
}

export interface OpenRelay {
  onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  close(): Promise<void>;
}

/** The relay of this process, and the way to those of the other replicas. */
export async function openRelay(options: RelayOptions, database: OpenDatabase["kind"]): Promise<OpenRelay> {
  const { engine, log, peerUrl } = options;
  const { db, clock, metrics, budgets } = engine;
  const homes = new Homes(db, clock, peerUrl);
  if (database === "pglite") await homes.alone();
  const sessions = new SessionLog(db, clock, () => metrics.transactionRetried());
  const relay = new Relay(sessions, homes, clock, log, budgets);
  const forwarder = new Forwarder(clock, metrics);
  return {
    onUpgrade: relayUpgrades({ ...options, relay, forwarder }),
    async close() {
      await relay.close();
      forwarder.close();
    },
  };
}
