import { manifestName } from '../../../protocol/artifact.ts';
import { type JobCase, runsOf, type Violation } from './violation.ts';

/** Checks that the orchestrator has exactly the files that the trainers wrote. */
export function judgeFiles(jobCase: JobCase): readonly Violation[] {
  return [...judgeContents(jobCase), ...judgeMissing(jobCase), ...judgeResumed(jobCase)];
}

const hashesIn = ({ runs }: JobCase): ReadonlyMap<string, ReadonlySet<string>> => {
  const written = new Map<string, Set<string>>();
  for (const line of runs.flatMap(({ lines }) => lines)) {
    if (line.kind !== 'checkpoint' && line.kind !== 'final') continue;
    for (const [key, hash] of Object.entries(line.files))
      written.set(key, (written.get(key) ?? new Set()).add(hash));
  }
  return written;
};

function judgeContents(jobCase: JobCase): readonly Violation[] {
  const { job, files } = jobCase.evidence;
  const written = hashesIn(jobCase);
  return files
    .filter(({ key }) => !key.endsWith(`/${manifestName}`))
    .flatMap(({ key, listed, sha256 }) => {
      if (sha256 === null)
        return [
          {
            rule: 'listed files can be downloaded',
            what: `${key} is listed, but cannot be downloaded`,
            job: job.id,
          },
        ];
      const isKnown = sha256 === listed && written.get(key)?.has(sha256) === true;
      // A trainer that is killed while it writes a file has not recorded that file.
      const isAnnounced = written.has(key);
      return isKnown || !isAnnounced
        ? []
        : [
            {
              rule: 'files match what the trainer wrote',
              what: `${key} is ${sha256}, listed as ${listed}`,
              job: job.id,
            },
          ];
    });
}

/**
 * Checks that a completed job has the final files and the newest checkpoint of the attempt that completed it. Older
 * checkpoints may be missing, because a restarted worker uploads only the newest one.
 */
function judgeMissing(jobCase: JobCase): readonly Violation[] {
  const { job, files } = jobCase.evidence;
  const accepted = job.attempts.find(({ outcome }) => outcome === 'completed');
  if (job.status !== 'completed' || accepted === undefined) return [];
  const present = new Map(files.map(({ key, sha256 }) => [key, sha256]));
  const lines = runsOf(jobCase, accepted).flatMap(run => run.lines);
  const newest = lines.filter(line => line.kind === 'checkpoint').slice(-1);
  const recorded =
    job.outstanding === null || job.outstanding === undefined
      ? 'no outstanding files are reported'
      : `outstanding: ${JSON.stringify(job.outstanding)}`;
  const lacks = (hashes: Readonly<Record<string, string>>): readonly string[] => {
    const wrong = Object.entries(hashes)
      .filter(([key, hash]) => present.get(key) !== hash)
      .map(([key]) => (present.has(key) ? `${key} belongs to another attempt` : `${key} is missing`));
    return wrong.length === 0 ? [] : [`${wrong.join(', ')}; ${recorded}`];
  };
  const missing = lines.filter(line => line.kind === 'final').flatMap(({ files: own }) => lacks(own));
  const missingSteps = newest.flatMap(({ files: own }) => lacks(own));
  return [
    ...missing.map(what => ({ rule: 'final files arrive', what, job: job.id })),
    ...missingSteps.map(what => ({ rule: 'the newest checkpoint arrives', what, job: job.id })),
  ];
}

/** Checks that each resumed attempt started from a complete checkpoint of an earlier one, which the API names. */
function judgeResumed(jobCase: JobCase): readonly Violation[] {
  const { job } = jobCase.evidence;
  const written = hashesIn(jobCase);
  return job.attempts.flatMap(attempt =>
    runsOf(jobCase, attempt).flatMap(({ lines }) => {
      const resumed = lines.find(line => line.kind === 'resume');
      const recorded = attempt.resumed?.checkpoint ?? null;
      const from = resumed?.checkpoint ?? null;
      const odd =
        recorded === from
          ? []
          : [`attempt ${attempt.attempt} resumed from ${from}, but the API reports ${recorded}`];
      const wrong = Object.entries(resumed?.files ?? {})
        .filter(([key]) => !key.endsWith(`/${manifestName}`))
        .filter(([key, hash]) => written.get(key)?.has(hash) !== true)
        .map(([key]) => `attempt ${attempt.attempt} resumed from ${key}, whose content no trainer wrote`);
      return [...odd, ...wrong].map(what => ({
        rule: 'attempts resume from a complete checkpoint',
        what,
        job: job.id,
      }));
    }),
  );
}
