/** Levels of Pod Security that pods of releases are held to. What `baseline` asks for is asked for at both. */
export const POD_SECURITY_LEVELS = ["restricted", "baseline"] as const;
export type PodSecurity = (typeof POD_SECURITY_LEVELS)[number];

/** Seccomp profiles that `restricted` takes. */
export const SECCOMP_PROFILES: readonly string[] = ["RuntimeDefault", "Localhost"];
