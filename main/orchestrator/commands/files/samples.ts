import type { SampleView } from '../../../../protocol/artifacts-api.ts';
import type { JobId } from '../../../../protocol/ids.ts';
import { readSampleName, type SampleName } from '../../../../protocol/sample-name.ts';
import type { Core } from '../../core.ts';
import type { Job } from '../../model.ts';
import type { Artifact } from '../../ports/index.ts';
import { artifactView } from './artifacts.ts';

export interface SampleFilter {
  /** Empty for all jobs. */
  readonly jobs: readonly JobId[];
  /** Only samples of this user's jobs; null for all. */
  readonly user: string | null;
  readonly fromStep: number | null;
  readonly toStep: number | null;
  /** Only samples with a lower order; null for all. */
  readonly before: number | null;
  readonly limit: number;
}

export interface SamplePage {
  /** Newest first. */
  readonly samples: readonly SampleView[];
  /** The value of `before` for the next page; null on the last page. */
  readonly next: number | null;
}

/** Maximum number of files that one call examines. It limits the duration of calls whose filter matches few files. */
const maxExamined = 5_000;
/** Number of files that one query reads. */
const batchSize = 500;

/** Lists samples, newest first. A page can have fewer samples than `limit`, because filters for users and steps use no index. */
export const createSampleCalls = (core: Core) => ({
  listSamples(filter: SampleFilter): SamplePage {
    const jobs = [...new Set(filter.jobs)];
    const samples: SampleView[] = [];
    let next = filter.before;
    for (let examined = 0; examined < maxExamined; examined += batchSize) {
      const batch = core.store.samples(jobs, next, batchSize);
      for (const artifact of batch) {
        if (samples.length === filter.limit) return { samples, next };
        const sample = matchingSample(core, artifact, filter);
        if (sample !== null) samples.push(sample);
        next = artifact.order;
      }
      if (batch.length < batchSize) return { samples, next: null };
    }
    return { samples, next };
  },
});

/** Returns the view of a sample; null if the filter excludes it. */
function matchingSample(core: Core, artifact: Artifact, filter: SampleFilter): SampleView | null {
  const job = core.store.job(artifact.jobId);
  if (job === null || (filter.user !== null && job.user !== filter.user)) return null;
  const name = readSampleName(artifact.key);
  return isInRange(name, filter) ? viewOf(core, artifact, job, name) : null;
}

const isInRange = ({ step }: SampleName, { fromStep, toStep }: SampleFilter): boolean =>
  step === null
    ? fromStep === null && toStep === null
    : step >= (fromStep ?? step) && step <= (toStep ?? step);

const viewOf = (core: Core, artifact: Artifact, job: Job, name: SampleName): SampleView => ({
  ...artifactView(core, artifact),
  order: artifact.order,
  name: job.spec.about.name,
  config_name: job.spec.configName,
  step: name.step,
  epoch: name.epoch,
  prompt_index: name.promptIndex,
  prompt: name.prompt,
});
