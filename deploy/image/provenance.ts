/** What an image was made from. */
export interface Build {
  readonly name: string;
  /** `sha256:…` of a pushed image's manifest, which users pin; of one that is only here, its configuration's. */
  readonly digest: string;
  readonly revision: string;
  /** The work tree had changes that no revision knows. */
  readonly dirty: boolean;
  readonly repository: string;
  readonly platform: string;
  readonly arguments: Readonly<Record<string, string>>;
  /** Base images as they are named in the build, with their digests. */
  readonly bases: readonly string[];
  /** `sha256` of the lock file: every package with its version and hash. */
  readonly lockSha256: string;
  readonly startedAt: Date;
  readonly finishedAt: Date;
}

/** An in-toto statement with SLSA provenance v1. Unsigned: signing needs an identity that only a release has. */
export function provenance(build: Build): object {
  const { name, digest, revision, dirty, repository, platform, bases, lockSha256, startedAt, finishedAt } = build;
  return {
    _type: "https://in-toto.io/Statement/v1",
    subject: [{ name, digest: digestOf(digest) }],
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: "https://sallyport.dev/build/docker/v1",
        externalParameters: { dockerfile: "deploy/image/Dockerfile", platform, arguments: build.arguments },
        internalParameters: { dirty },
        resolvedDependencies: [
          { uri: repository, digest: { gitCommit: revision } },
          { uri: "package-lock.json", digest: { sha256: lockSha256 } },
          ...bases.map((base) => {
            const [uri, pinned] = base.split("@");
            // A base by tag has no digest that could be vouched for.
            return { uri, ...(pinned !== undefined && { digest: digestOf(pinned) }) };
          }),
        ],
      },
      runDetails: {
        builder: { id: "https://sallyport.dev/builders/local" },
        metadata: { startedOn: startedAt.toISOString(), finishedOn: finishedAt.toISOString() },
      },
    },
  };
}

function digestOf(text: string): Readonly<Record<string, string>> {
  const [algorithm = "", hex = ""] = text.split(":");
  return { [algorithm]: hex };
}
