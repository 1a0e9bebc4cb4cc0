import type { Cluster } from "../../../lab/cluster/cluster.ts";
import type { Attack, Passage, Stamp } from "../attacks.ts";
import type { OperatorWorld } from "../operator/operator-world.ts";
import { DEBUG_ATTACKS, DEBUG_PASSAGES, DEBUG_STAMPS } from "./debug-attacks.ts";
import { setDebugScene } from "./debug-scene.ts";
import { GRANT_ATTACKS, GRANT_PASSAGES, setGrantScene } from "./grant-cases.ts";
import { MACHINE_ATTACKS } from "./machine-attacks.ts";
import { MACHINE_PASSAGES, MACHINE_STAMPS } from "./machine-passages.ts";
import { setMachineScene } from "./machine-scene.ts";
import { NAME_ATTACKS } from "./name-attacks.ts";
import { OBJECT_ATTACKS } from "./object-attacks.ts";
import { POD_ATTACKS } from "./pod-attacks.ts";
import { RELEASE_PASSAGES } from "./release-passages.ts";
import { OPTIONS, RELEASE_STAMPS, setReleaseScene } from "./release-scene.ts";
import { SECRET_ATTACKS, SECRET_PASSAGES } from "./secret-attacks.ts";
import { setSecretScene } from "./secret-scene.ts";
import { NAMELESS, WORD_ATTACKS } from "./word-attacks.ts";

/** Cases that share their accounts. */
export interface Table {
  readonly attacks: readonly Attack<string>[];
  readonly passages: readonly Passage<string>[];
  readonly stamps: readonly Stamp<string>[];
  /** Returns the credentials of each account. */
  readonly setScene: (cluster: Cluster, world: OperatorWorld) => Promise<Readonly<Record<string, string>>>;
}

/** Releases that bring secret values: the installation that has all policies. */
export const RELEASES = { ...OPTIONS, secrets: true };

/** In the order in which their scenes are set, on one cluster. */
export const TABLES: readonly Table[] = [
  {
    attacks: [...OBJECT_ATTACKS, ...POD_ATTACKS, ...NAME_ATTACKS, ...WORD_ATTACKS, NAMELESS],
    passages: RELEASE_PASSAGES,
    stamps: RELEASE_STAMPS,
    setScene: (cluster) => setReleaseScene(cluster, RELEASES),
  },
  { attacks: SECRET_ATTACKS, passages: SECRET_PASSAGES, stamps: [], setScene: setSecretScene },
  { attacks: MACHINE_ATTACKS, passages: MACHINE_PASSAGES, stamps: MACHINE_STAMPS, setScene: setMachineScene },
  { attacks: DEBUG_ATTACKS, passages: DEBUG_PASSAGES, stamps: DEBUG_STAMPS, setScene: setDebugScene },
  { attacks: GRANT_ATTACKS, passages: GRANT_PASSAGES, stamps: [], setScene: setGrantScene },
];
