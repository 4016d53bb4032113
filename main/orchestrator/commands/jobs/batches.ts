import type { BatchRequest } from '../../../../protocol/batch.ts';
import type { JobId } from '../../../../protocol/ids.ts';
import type { JobWarning } from '../../../../protocol/job.ts';
import type { JobAbout } from '../../../../protocol/job-about.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import type { SubmitRequest } from '../../../../protocol/queue-api.ts';
import type { Core } from '../../core.ts';
import type { Actor } from '../../model.ts';
import type { Configs, Read } from '../../ports/index.ts';
import { type BoundDraft, type Draft, prepare } from '../../rules/drafts.ts';
import { configWarnings } from '../../rules/job-warnings.ts';
import { command } from '../command.ts';
import { dependenciesFor } from './dependencies.ts';
import { dataFor } from './job-data.ts';
import { completeDraft, insertJob } from './new-job.ts';
import { earlierJobs, type IdempotencyKey, jobsOfKey, rememberJobs } from './submission-keys.ts';

/** A job to submit together with others. */
export interface Entry {
  readonly request: Pick<SubmitRequest, 'data' | 'after' | 'after_on' | 'inputs'>;
  readonly draft: Draft;
}

/** The jobs of one submission, in order. */
export interface SubmittedJobs {
  readonly ids: readonly JobId[];
  /** Whether the idempotency key was used before, so that nothing was submitted. */
  readonly isRepeat: boolean;
}

/** Adds the index of the refused job to a refusal, in the same form as validation errors: `jobs.3: ...`. */
export type NameRefused = <T>(outcome: Outcome<T>, index: number) => Outcome<T>;

/** Submits all jobs in one transaction, or none. The idempotency key refers to all of them. */
export async function submitJobs(
  core: Core,
  entries: readonly Entry[],
  {
    by,
    idempotency,
    nameRefused,
  }: { by: Actor; idempotency: IdempotencyKey | null; nameRefused: NameRefused },
): Promise<Outcome<SubmittedJobs>> {
  return command(core, (tx): Outcome<SubmittedJobs> => {
    const earlier = earlierJobs(core, tx, by, idempotency);
    if (earlier !== null) return earlier.ok ? accept({ ids: earlier.value, isRepeat: true }) : earlier;
    const bound: BoundDraft[] = [];
    for (const [index, { request, draft }] of entries.entries()) {
      // A dataset or a parent may have been removed since the drafts were made.
      const checked = nameRefused(bindingsOf(tx, { request, draft }, by), index);
      if (!checked.ok) return checked;
      bound.push({ ...draft, dependencies: checked.value });
    }
    const ids = bound.map(draft => insertJob(core, tx, draft, by).id);
    if (idempotency !== null) rememberJobs(core, tx, by, idempotency, ids);
    return accept({ ids, isRepeat: false });
  });
}

/** Returns the dependencies of a job. Refuses a job whose data or parents do not exist. */
export function bindingsOf(
  read: Read,
  { request, draft }: Entry,
  by: Actor,
): Outcome<BoundDraft['dependencies']> {
  const data = request.data === undefined ? accept([]) : dataFor(read, request.data, by);
  return data.ok ? dependenciesFor(read, request, draft.spec.requirements.trainer, by) : data;
}

/** Returns the warnings about the configs of the jobs, without duplicates. */
export function warningsOf(core: Core, drafts: readonly Draft[]): readonly JobWarning[] {
  const warnings = new Map<string, JobWarning>();
  for (const { spec, payload } of drafts)
    for (const warning of configWarnings(core, spec, () => payload.config))
      warnings.set(warning.message, warning);
  return [...warnings.values()];
}

/** The result of the submission of a batch. */
export interface Batch {
  /** `id`: null in a dry run. */
  readonly jobs: readonly (Pick<JobAbout, 'name'> & {
    readonly id: JobId | null;
    readonly configName: string;
  })[];
  readonly warnings: readonly JobWarning[];
  readonly isRepeat: boolean;
}

const refusedAt: NameRefused = (outcome, index) =>
  outcome.ok ? outcome : refuse(outcome.refusal.code, `jobs.${index}: ${outcome.refusal.detail}`);

/** Maximum total length of a batch's named configs in characters, because one transaction stores a copy for each job. */
const maxCopiedText = 32_000_000;

/** Submissions of several different jobs in one call. */
export function createBatches(core: Core, configs: Configs) {
  const entriesFor = async ({ jobs }: BatchRequest, by: Actor): Promise<Outcome<readonly Entry[]>> => {
    const { load, copied } = createConfigCache(configs);
    const entries: Entry[] = [];
    for (const [index, request] of jobs.entries()) {
      const prepared = prepare({ ...configs, load }, request);
      const draft = completeDraft(core, request, prepared instanceof Promise ? await prepared : prepared, by);
      const checked = refusedAt(draft, index);
      if (!checked.ok) return checked;
      if (copied() > maxCopiedText)
        return refuse(
          'invalid_request',
          `The configs are too large for ${jobs.length} jobs: submit fewer at once`,
        );
      entries.push({ request, draft: checked.value });
    }
    return accept(entries);
  };
  const batchOf = (entries: readonly Entry[], ids: readonly JobId[]): Batch => ({
    jobs: entries.map(({ draft: { spec } }, index) => ({
      id: ids[index] ?? null,
      configName: spec.configName,
      name: spec.about.name,
    })),
    warnings: warningsOf(
      core,
      entries.map(({ draft }) => draft),
    ),
    isRepeat: false,
  });

  return {
    /** Submits all jobs in one transaction, or none. The idempotency key refers to all of them. */
    async batch(
      request: BatchRequest,
      by: Actor,
      idempotency: IdempotencyKey | null,
    ): Promise<Outcome<Batch>> {
      // Checked before the configs are loaded, because a repeated call must not depend on their current state.
      const earlier = earlierJobs(core, core.store, by, idempotency);
      if (earlier !== null) return earlier.ok ? repeated(core, earlier.value) : earlier;
      const entries = await entriesFor(request, by);
      if (!entries.ok) return entries;
      const submitted = await submitJobs(core, entries.value, { by, idempotency, nameRefused: refusedAt });
      if (!submitted.ok) return submitted;
      const { ids, isRepeat } = submitted.value;
      return isRepeat ? repeated(core, ids) : accept(batchOf(entries.value, ids));
    },

    /** Checks the jobs without submitting them. Refuses what `batch` refuses. */
    async dryBatch(request: BatchRequest, by: Actor): Promise<Outcome<Batch>> {
      const entries = await entriesFor(request, by);
      if (!entries.ok) return entries;
      for (const [index, entry] of entries.value.entries()) {
        const checked = refusedAt(bindingsOf(core.store, entry, by), index);
        if (!checked.ok) return checked;
      }
      return accept(batchOf(entries.value, []));
    },
  };
}

function repeated(core: Core, ids: readonly JobId[]): Outcome<Batch> {
  const jobs = jobsOfKey(core.store, ids);
  if (!jobs.ok) return jobs;
  const shown = jobs.value.map(({ id, spec: { configName, about } }) => ({
    id,
    configName,
    name: about.name,
  }));
  return accept({ jobs: shown, warnings: [], isRepeat: true });
}

/** Caches named configs. `copied` returns the total length of the configs in characters, counted once per job. */
function createConfigCache(configs: Configs) {
  const loaded = new Map<string, Loaded>();
  let total = 0;
  const read = async (name: string): Promise<Loaded> => {
    const bundle = await configs.load(name);
    return { bundle, length: bundle.ok ? JSON.stringify(bundle.value).length : 0 };
  };
  const load: Configs['load'] = async name => {
    const config = loaded.get(name) ?? (await read(name));
    loaded.set(name, config);
    total += config.length;
    return config.bundle;
  };
  return { load, copied: () => total };
}

interface Loaded {
  readonly bundle: Awaited<ReturnType<Configs['load']>>;
  readonly length: number;
}
