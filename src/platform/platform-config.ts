import { ConfigError, type Environment, type SettingRow, type SettingTable, settingText } from "../base/settings.ts";
import { CLOUDS, type Cloud } from "../contract/managers/managers.ts";
import { isWorkspaceName } from "../contract/wire/schema.ts";
import { IMAGE_SETTINGS, type ImageBuilding, readImageBuilding } from "./builders/operator-image/config.ts";
import type { DatabaseLocation } from "./database/open.ts";
import { GIT_HOST_SETTINGS, readGitHost } from "./git-hosts/config.ts";
import type { GitHubAppConfig } from "./git-hosts/github-app.ts";
import { IDENTITY_SETTINGS, type IdentityConfig, readIdentity, urlOfHost } from "./identity/config.ts";
import { BUDGET_NAMES, type BudgetSizes, readBudgets } from "./kernel/budgets/budgets.ts";
import type { Regions } from "./kernel/call/call-config.ts";
import { TRUST_NONE, type Trust, trustIn } from "./kernel/caller-address.ts";
import type { SmtpSettings } from "./mail/smtp-mailer.ts";
import { OBJECT_SETTINGS, type ObjectLocation, readObjectLocation } from "./objects/config.ts";

/** The configuration of the process, checked at start. */
export interface PlatformConfig {
  readonly database: DatabaseLocation;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Without a trailing slash. Links in answers and token issuers begin with it. Undefined: the listen address. */
  readonly baseUrl: string | undefined;
  /** Where other replicas reach this one, without a trailing slash. Undefined: nowhere. */
  readonly peerUrl: string | undefined;
  readonly rateLimits: boolean;
  /** Limits on what each tenant may use of shared resources. */
  readonly budgets: BudgetSizes;
  /** The proxies whose X-Forwarded-For header gives the client's address. */
  readonly trustedProxies: Trust;
  /** Port of `/metrics`, separate so that the API's port can be public. Undefined: no metrics. */
  readonly metricsPort: number | undefined;
  /** Name of the workspace that the first start on an empty database creates. */
  readonly firstWorkspace: string;
  /**
   * 32 bytes that seal values which must be read again, such as secret environment variables. Undefined: created and
   * kept in the data folder.
   */
  readonly sealingKey: Uint8Array | undefined;
  /** The address where users open invitations, without a trailing slash. Undefined: the base URL. */
  readonly portalUrl: string | undefined;
  /** Undefined: the platform sends no mail. */
  readonly mail: SmtpSettings | undefined;
  /** Domain under which deployments get public names. Undefined: they get none. */
  readonly generatedDomain: string | undefined;
  /** Regions that the deployment portal offers. Undefined: those that a new account of each cloud can use. */
  readonly supportedRegions: Regions | undefined;
  /**
   * A copy of the template of managers' setups, in S3. Undefined: the administrator of the cloud account uploads the
   * template.
   */
  readonly setupTemplateUrl: string | undefined;
  /**
   * Undefined: beside the embedded database. With another database there is no store then, and nothing can be uploaded
   * or built.
   */
  readonly objects: ObjectLocation | undefined;
  /** What the platform needs to make operators' images. Undefined: builders outside make them. */
  readonly images: ImageBuilding | undefined;
  /** The app whose installations give the repositories to choose from. Undefined: no git host. */
  readonly github: GitHubAppConfig | undefined;
  readonly identity: IdentityConfig;
  /** Address of the user whom the first start on an empty database makes an admin. */
  readonly firstAdmin: string | undefined;
}

/** All settings of the platform. The CLI's help and the documentation are generated from this table. */
export const PLATFORM_SETTINGS = {
  data: {
    env: "SALLYPORT_PLATFORM_DATA",
    default: "./data",
    doc: "Folder of the embedded database; `memory` keeps nothing. One process may open it at a time.",
  },
  databaseUrl: {
    env: "SALLYPORT_PLATFORM_DATABASE_URL",
    default: "",
    doc: "PostgreSQL URL; takes the place of the embedded database. Several replicas may share it.",
  },
  host: { env: "SALLYPORT_PLATFORM_HOST", default: "127.0.0.1", doc: "Address to listen on." },
  port: { env: "SALLYPORT_PLATFORM_PORT", default: "8080", doc: "Port to listen on; 0 takes a free one." },
  baseUrl: {
    env: "SALLYPORT_PLATFORM_BASE_URL",
    default: "",
    doc: "Address that callers use, when it is not the one listened on (behind a proxy).",
  },
  peerUrl: {
    env: "SALLYPORT_PLATFORM_PEER_URL",
    default: "",
    doc: "Address at which the other replicas on the same PostgreSQL reach this one, such as `http://10.0.0.7:8080`: the two sides of a debug session may then land on any of them. Empty: both must be sent to the same replica.",
  },
  rateLimits: {
    env: "SALLYPORT_PLATFORM_RATE_LIMITS",
    default: "on",
    doc: "on or off. Off only for benchmarks and tests.",
  },
  budgets: {
    env: "SALLYPORT_PLATFORM_BUDGETS",
    default: "",
    doc: "Sizes of budgets that shall differ from those of platform.md, such as `group-api-keys=200,uploads=32`.",
  },
  trustedProxies: {
    env: "SALLYPORT_PLATFORM_TRUSTED_PROXIES",
    default: "",
    doc: "Addresses and CIDRs of the proxies in front, comma-separated: from them alone X-Forwarded-For is believed, and its address pays for requests without a credential. Empty: none.",
  },
  metricsPort: {
    env: "SALLYPORT_PLATFORM_METRICS_PORT",
    default: "",
    doc: "Port of /metrics; empty: none.",
  },
  firstWorkspace: {
    env: "SALLYPORT_PLATFORM_FIRST_WORKSPACE",
    default: "default",
    doc: "Name of the workspace that the first start on an empty database makes, with a key for its first admin.",
  },
  sealingKey: {
    env: "SALLYPORT_PLATFORM_SEALING_KEY",
    default: "",
    doc: "64 hex digits: encrypts secret values at rest. Must stay the same, and must be set with PostgreSQL.",
  },
  portalUrl: {
    env: "SALLYPORT_PLATFORM_PORTAL_URL",
    default: "",
    doc: "Address of the pages that people open, such as those of invitations; default: the base URL.",
  },
  smtpUrl: {
    env: "SALLYPORT_PLATFORM_SMTP_URL",
    default: "",
    doc: "smtp:// or smtps:// URL of the mail server, with user and password where it wants them. Empty: no mail is sent.",
  },
  mailFrom: {
    env: "SALLYPORT_PLATFORM_MAIL_FROM",
    default: "",
    doc: "Address that mails come from, such as `Sallyport <sallyport@example.com>`; required with an SMTP URL.",
  },
  setupTemplateUrl: {
    env: "SALLYPORT_PLATFORM_SETUP_TEMPLATE_URL",
    default: "",
    doc: "https:// address in S3 of a copy of /setup/manager.cloudformation.yaml: a manager's `launchUrl` then opens its stack ready to be created. Empty: it opens where the template is uploaded, as CloudFormation takes addresses in S3 alone.",
  },
  generatedDomain: {
    env: "SALLYPORT_PLATFORM_GENERATED_DOMAIN",
    default: "",
    doc: "Domain under which deployments get public names, as the deployment portal shows it. Empty: none.",
  },
  regions: {
    env: "SALLYPORT_PLATFORM_REGIONS",
    default: "",
    doc: "Regions that the deployment portal offers, such as `aws:eu-central-1,gcp:europe-west3`. Empty: those that a new account of each cloud can use.",
  },
  ...OBJECT_SETTINGS,
  ...IMAGE_SETTINGS,
  ...GIT_HOST_SETTINGS,
  ...IDENTITY_SETTINGS,
} as const satisfies SettingTable;

/** The part that the server's own commands need; they seal nothing and do not listen. @throws ConfigError */
export function readDatabaseLocation(environment: Environment): DatabaseLocation {
  const { databaseUrl, data, sealingKey } = PLATFORM_SETTINGS;
  const anyKey = environment[sealingKey.env] || "0".repeat(64);
  const only = [databaseUrl, data].map(({ env }) => [env, environment[env]]);
  return readPlatformConfig({ ...Object.fromEntries(only), [sealingKey.env]: anyKey }).database;
}

/**
 * @param environment such as `process.env`.
 * @throws ConfigError listing every setting that is wrong. Secret values are not quoted.
 */
export function readPlatformConfig(environment: Environment): PlatformConfig {
  const problems: string[] = [];
  const text = (setting: SettingRow): string => settingText(setting, environment) ?? "";
  const fail = (setting: SettingRow, expected: string): void => {
    problems.push(`${setting.env} must be ${expected}`);
  };
  const port = (setting: SettingRow): number => {
    const value = Number(text(setting));
    if (!Number.isInteger(value) || value < 0 || value > 65_535) fail(setting, "a port, 0 to 65535");
    return value;
  };
  const settings = PLATFORM_SETTINGS;
  const url = text(settings.databaseUrl);
  if (url !== "" && !/^postgres(ql)?:\/\//.test(url)) fail(settings.databaseUrl, "a postgres:// URL");
  const [baseUrl, peerUrl, portalUrl] = [settings.baseUrl, settings.peerUrl, settings.portalUrl].map((setting) =>
    httpUrl(text(setting), (expected) => fail(setting, expected)),
  );
  const setupTemplateUrl = text(settings.setupTemplateUrl);
  if (setupTemplateUrl !== "" && !/^https:\/\/./.test(setupTemplateUrl))
    fail(settings.setupTemplateUrl, "an https URL");
  const [smtpUrl, mailFrom] = [text(settings.smtpUrl), text(settings.mailFrom)];
  if (smtpUrl !== "" && !/^smtps?:\/\/[^/]/.test(smtpUrl)) fail(settings.smtpUrl, "an smtp:// or smtps:// URL");
  if (smtpUrl !== "" && !mailFrom.includes("@")) fail(settings.mailFrom, "an address, when mail is sent");
  const generatedDomain = text(settings.generatedDomain);
  if (!/^[a-z0-9.-]*$/.test(generatedDomain)) fail(settings.generatedDomain, "a domain");
  const regions = text(settings.regions);
  if (regions !== "" && readRegions(regions) === undefined) {
    fail(settings.regions, `a list of <cloud>:<region>, with ${CLOUDS.join(", ")}`);
  }
  const rateLimits = text(settings.rateLimits);
  if (rateLimits !== "on" && rateLimits !== "off") fail(settings.rateLimits, "on or off");
  const proxies = trustIn(listOf(text(settings.trustedProxies)));
  if (proxies === undefined) fail(settings.trustedProxies, "a list of addresses and CIDRs, such as 10.0.0.0/8");
  const key = text(settings.sealingKey);
  if (key === "" && url !== "") fail(settings.sealingKey, "set with PostgreSQL: openssl rand -hex 32");
  if (key !== "" && !/^[0-9a-f]{64}$/i.test(key)) fail(settings.sealingKey, "64 hex digits: openssl rand -hex 32");
  const firstWorkspace = text(settings.firstWorkspace);
  if (!isWorkspaceName(firstWorkspace)) fail(settings.firstWorkspace, "4 to 100 of a-z, 0-9 and single dashes");
  const host = text(settings.host);
  const address = baseUrl ?? urlOfHost(host);
  const { firstAdmin, ...identity } = readIdentity(text, fail, address, host);
  const config: PlatformConfig = {
    database: url === "" ? { pglite: text(settings.data) } : { postgres: url },
    ...{ objects: readObjectLocation(text, fail), images: readImageBuilding(text, fail) },
    github: readGitHost(text, fail),
    host,
    port: port(settings.port),
    baseUrl,
    peerUrl,
    rateLimits: rateLimits === "on",
    budgets: budgetSizes(text(settings.budgets), (expected) => fail(settings.budgets, expected)),
    trustedProxies: proxies ?? TRUST_NONE,
    metricsPort: text(settings.metricsPort) === "" ? undefined : port(settings.metricsPort),
    firstWorkspace,
    sealingKey: key === "" ? undefined : Buffer.from(key, "hex"),
    portalUrl,
    mail: smtpUrl === "" ? undefined : { url: smtpUrl, from: mailFrom },
    generatedDomain: generatedDomain === "" ? undefined : generatedDomain,
    setupTemplateUrl: setupTemplateUrl === "" ? undefined : setupTemplateUrl,
    supportedRegions: regions === "" ? undefined : readRegions(regions),
    identity,
    firstAdmin,
  };
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** Without a trailing slash; undefined: none. */
function httpUrl(text: string, fail: (expected: string) => void): string | undefined {
  const url = text.replace(/\/+$/, "");
  if (url !== "" && !isHttpUrl(url)) fail("an http(s) URL");
  return url === "" ? undefined : url;
}

function budgetSizes(text: string, fail: (expected: string) => void): BudgetSizes {
  const { sizes, wrong } = readBudgets(text);
  if (wrong.length > 0) {
    const shown = wrong.map((item) => JSON.stringify(item.slice(0, 64))).join(", ");
    fail(`a list of <budget>=<size>, sizes from 1 on; not so: ${shown}; budgets are ${BUDGET_NAMES.join(", ")}`);
  }
  return sizes;
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:/.test(text);
}

function listOf(text: string): string[] {
  return text === "" ? [] : text.split(",").map((item) => item.trim());
}

/** Undefined when an item is not a region of a cloud. */
function readRegions(list: string): Regions | undefined {
  const items = list.split(",").map((item) => /^(aws|gcp|azure):([a-z0-9-]+)$/.exec(item.trim()));
  const of = (cloud: Cloud): string[] => items.flatMap((item) => (item?.[1] === cloud ? (item[2] ?? []) : []));
  return items.includes(null) ? undefined : { aws: of("aws"), gcp: of("gcp"), azure: of("azure") };
}
