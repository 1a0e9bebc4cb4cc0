/** Levels of Pod Security that pods of releases are held to. What `baseline` asks for is asked for at both. */
export const POD_SECURITY_LEVELS = ["restricted", "baseline"] as const;
export type PodSecurity = (typeof POD_SECURITY_LEVELS)[number];

/** Seccomp profiles that `restricted` takes. */
export const SECCOMP_PROFILES: readonly string[] = ["RuntimeDefault", "Localhost"];

/** Volumes that bring nothing of the node and no Secret of another. */
export const RELEASE_VOLUMES = [
  "configMap",
  "emptyDir",
  "persistentVolumeClaim",
  "downwardAPI",
  "ephemeral",
  "secret",
  "projected",
];
/** What a projected volume may have: `podCertificate`, for one, would be a credential of the pod's account. */
export const PROJECTED_SOURCES = ["configMap", "downwardAPI", "secret", "serviceAccountToken", "clusterTrustBundle"];

/** Longest time, in seconds, that a pod may take to end: those that end are beside the new ones, and outlive a deletion. */
export const MAX_GRACE_SECONDS = 3_600;
