import type { Cloud } from "../../../contract/managers/managers.ts";
import type { GitHost } from "../../ports/git-host.ts";
import type { ObjectStore } from "../../ports/object-store.ts";

/** Region names by cloud. */
export type Regions = Readonly<Record<Cloud, string[]>>;

/** The part of the configuration that handlers may read. */
export interface CallConfig {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  /** Without a trailing slash. */
  readonly portalUrl: string;
  readonly sealingKey: Uint8Array;
  /** True: the courier sends pending mails. */
  readonly sendsMail: boolean;
  readonly gitHost: GitHost | undefined;
  readonly generatedDomain: string | undefined;
  readonly supportedRegions: Regions | undefined;
  readonly setupTemplateUrl: string | undefined;
  readonly objects: ObjectStore | undefined;
  /** Digest of the image to which the platform adds plugins. Undefined: builders outside make the operator's images. */
  readonly baseImage: string | undefined;
}
