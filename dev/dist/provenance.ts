/** The provenance of the artifacts: an unsigned in-toto statement with an SLSA 1.0 predicate. */

export interface Artifact {
  readonly name: string;
  readonly sha256: string;
}

export interface Build {
  readonly commit: string;
  /** True if the checkout had uncommitted changes. */
  readonly hasChanges: boolean;
  /** URL of the product's website, used as the namespace for names in the statement. */
  readonly homepage: string;
  readonly lockfileSha256: string;
  readonly builder: string;
  readonly platform: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly isSigned: boolean;
  readonly finishedOn: string;
}

export function createProvenance(artifacts: readonly Artifact[], build: Build): object {
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: artifacts.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: `${build.homepage}/build/dist/v1`,
        externalParameters: { command: 'npm run dist', platform: build.platform },
        internalParameters: { packagesAreSigned: build.isSigned, statementIsSigned: false },
        resolvedDependencies: [
          {
            // There is no URL, because a checkout does not know where its commit is published.
            name: 'source',
            digest: { gitCommit: build.commit },
            annotations: { hasUncommittedChanges: build.hasChanges },
          },
          { name: 'package-lock.json', digest: { sha256: build.lockfileSha256 } },
        ],
      },
      runDetails: {
        builder: { id: build.builder, version: build.versions },
        metadata: { finishedOn: build.finishedOn },
      },
    },
  };
}

/** Returns the lines that `sha256sum --check` reads. */
export const sumsOf = (artifacts: readonly Artifact[]): string =>
  artifacts.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join('');
