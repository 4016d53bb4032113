import { manifestName } from '../../../protocol/artifact.ts';
import { type JobCase, runsOf, type Violation } from './violation.ts';

/** Checks the stored files of a job: their contents, files that are missing, and the checkpoints that attempts resumed from. */
export function judgeFiles(jobCase: JobCase): readonly Violation[] {
  return [...judgeContents(jobCase), ...judgeMissing(jobCase), ...judgeResumed(jobCase)];
}

/** Returns the hashes of all contents that the trainers wrote, by the path of the file. */
const writtenHashes = ({ runs }: JobCase): ReadonlyMap<string, ReadonlySet<string>> => {
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
  const written = writtenHashes(jobCase);
  const violations: Violation[] = [];
  for (const { key, listed, sha256 } of files) {
    // The worker writes the manifests, not the trainer.
    if (key.endsWith(`/${manifestName}`)) continue;
    const hashes = written.get(key);
    if (sha256 === null)
      violations.push({
        rule: 'listed files can be downloaded',
        what: `${key} is listed, but cannot be downloaded`,
        job: job.id,
      });
    // `hashes` is undefined when the trainer was killed between writing the file and recording its hash.
    else if (hashes !== undefined && !(sha256 === listed && hashes.has(sha256)))
      violations.push({
        rule: 'files match what the trainer wrote',
        what: `${key} has SHA-256 ${sha256} (listed: ${listed}), but the trainer wrote ${[...hashes].join(', ')}`,
        job: job.id,
      });
  }
  return violations;
}

/**
 * Checks that a completed job has the final files and the newest checkpoint of its completed attempt. Older checkpoints may be
 * missing, because a restarted worker uploads only the newest checkpoint.
 */
function judgeMissing(jobCase: JobCase): readonly Violation[] {
  const { job, files } = jobCase.evidence;
  const accepted = job.attempts.find(({ outcome }) => outcome === 'completed');
  if (job.status !== 'completed' || accepted === undefined) return [];
  const storedHashes = new Map(files.map(({ key, sha256 }) => [key, sha256]));
  const outstanding =
    job.outstanding === null || job.outstanding === undefined
      ? 'no outstanding files are reported'
      : `outstanding: ${JSON.stringify(job.outstanding)}`;
  /** Describes files that are missing or have other content; empty when there are none. */
  const findMissing = (hashes: Readonly<Record<string, string>>): readonly string[] => {
    const wrong = Object.entries(hashes)
      .filter(([key, hash]) => storedHashes.get(key) !== hash)
      .map(([key]) => (storedHashes.has(key) ? `${key} belongs to another attempt` : `${key} is missing`));
    return wrong.length === 0 ? [] : [`${wrong.join(', ')}; ${outstanding}`];
  };
  const lines = runsOf(jobCase, accepted).flatMap(run => run.lines);
  const finals = lines.filter(line => line.kind === 'final');
  const newestCheckpoints = lines.filter(line => line.kind === 'checkpoint').slice(-1);
  const missingFinals = finals.flatMap(line => findMissing(line.files));
  const missingCheckpoints = newestCheckpoints.flatMap(line => findMissing(line.files));
  return [
    ...missingFinals.map(what => ({ rule: 'final files arrive', what, job: job.id })),
    ...missingCheckpoints.map(what => ({ rule: 'the newest checkpoint arrives', what, job: job.id })),
  ];
}

/** Checks that the API names the checkpoint from which each attempt resumed, and that trainers wrote all files in it. */
function judgeResumed(jobCase: JobCase): readonly Violation[] {
  const { job } = jobCase.evidence;
  const written = writtenHashes(jobCase);
  const problems: string[] = [];
  for (const attempt of job.attempts)
    for (const { lines } of runsOf(jobCase, attempt)) {
      const resume = lines.find(line => line.kind === 'resume');
      const used = resume?.checkpoint ?? null;
      const reported = attempt.resumed?.checkpoint ?? null;
      if (reported !== used)
        problems.push(`attempt ${attempt.attempt} resumed from ${used}, but the API reports ${reported}`);
      for (const [key, hash] of Object.entries(resume?.files ?? {}))
        if (!key.endsWith(`/${manifestName}`) && written.get(key)?.has(hash) !== true)
          problems.push(`attempt ${attempt.attempt} resumed from ${key}, whose content no trainer wrote`);
    }
  return problems.map(what => ({ rule: 'attempts resume from a complete checkpoint', what, job: job.id }));
}
