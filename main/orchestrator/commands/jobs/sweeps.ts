import type { JobId } from '../../../../protocol/ids.ts';
import type { JobAbout } from '../../../../protocol/job-about.ts';
import type { JobWarning } from '../../../../protocol/job.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import { maxSweepJobs, type SweepRequest } from '../../../../protocol/sweep.ts';
import type { Core } from '../../core.ts';
import { command } from '../command.ts';
import type { Actor } from '../../model.ts';
import type { Configs, Read } from '../../ports/index.ts';
import { type Draft, prepareSweep } from '../../rules/drafts.ts';
import { configWarnings } from '../../rules/job-warnings.ts';
import { sweepGroup } from '../../rules/sweeps.ts';
import { dependenciesFor } from './dependencies.ts';
import { dataFor } from './job-data.ts';
import { draftWithData, insertJob, noLocalRuns } from './new-job.ts';
import { earlierJob, type IdempotencyKey, rememberKey } from './submission-keys.ts';

export interface Sweep {
  /** Null if the group was removed since. */
  readonly group: string | null;
  /** `id`: null in a dry run. */
  readonly jobs: readonly (Pick<JobAbout, 'name' | 'sweep'> & { readonly id: JobId | null })[];
  readonly warnings: readonly JobWarning[];
  /** The idempotency key was used before, so nothing was submitted. */
  readonly isRepeat: boolean;
}

/** Submissions of many jobs at once. */
export function createSweeps(core: Core, configs: Configs) {
  const prepare = async (request: SweepRequest, by: Actor): Promise<Outcome<readonly Draft[]>> => {
    const iso = core.clock.iso(core.clock.wall());
    const group = request.group ?? sweepGroup(request.name ?? request.config_name ?? 'sweep', iso);
    const prepared = await prepareSweep(configs, request, group);
    if (!prepared.ok) return prepared;
    const drafts: Draft[] = [];
    for (const each of prepared.value) {
      const draft = draftWithData(core.store, request, accept(each), by);
      if (!draft.ok) return draft;
      drafts.push(draft.value);
    }
    return request.target === 'local' && !core.runsLocally() ? noLocalRuns : accept(drafts);
  };

  return {
    /** Submits all jobs of the grid in one transaction, or none. The idempotency key refers to all of them. */
    async sweep(
      request: SweepRequest,
      by: Actor,
      idempotency: IdempotencyKey | null,
    ): Promise<Outcome<Sweep>> {
      // Checked before the config is loaded, because that may have changed or disappeared since.
      const earlier = earlierJobs(core, core.store, by, idempotency);
      if (earlier !== null) return repeated(core, earlier);
      const prepared = await prepare(request, by);
      if (!prepared.ok) return prepared;
      const drafts = prepared.value;
      let isRepeat = false;
      const entered = await command(core, (tx): Outcome<readonly JobId[]> => {
        const known = earlierJobs(core, tx, by, idempotency);
        isRepeat = known !== null;
        if (known !== null) return known;
        // A dataset may have been removed since the drafts were made.
        const data = dataFor(tx, request.data ?? [], by);
        if (!data.ok) return data;
        const dependencies = dependenciesFor(tx, request, by);
        if (!dependencies.ok) return dependencies;
        const ids = drafts.map(
          draft => insertJob(core, tx, { ...draft, dependencies: dependencies.value }, by).id,
        );
        if (idempotency !== null)
          for (const [index, id] of ids.entries()) rememberKey(core, tx, by, keyAt(idempotency, index), id);
        return accept(ids);
      });
      if (!entered.ok || isRepeat) return repeated(core, entered);
      return accept({ ...sweepOf(drafts, entered.value), warnings: warningsOf(core, drafts), isRepeat });
    },

    /** Returns the grid without submitting it. Refuses what `sweep` refuses. */
    async drySweep(request: SweepRequest, by: Actor): Promise<Outcome<Sweep>> {
      const drafts = await prepare(request, by);
      if (!drafts.ok) return drafts;
      const dependencies = dependenciesFor(core.store, request, by);
      if (!dependencies.ok) return dependencies;
      const warnings = warningsOf(core, drafts.value);
      return accept({ ...sweepOf(drafts.value, []), warnings, isRepeat: false });
    },
  };
}

const sweepOf = (drafts: readonly Draft[], ids: readonly JobId[]): Pick<Sweep, 'group' | 'jobs'> => ({
  group: drafts[0]?.spec.about.group ?? null,
  jobs: drafts.map(({ spec: { about } }, index) => ({
    id: ids[index] ?? null,
    name: about.name,
    sweep: about.sweep,
  })),
});

/** Keys of clients contain no spaces, so a further job's key cannot be the key of another submission. */
const keyAt = ({ key, fingerprint }: IdempotencyKey, index: number): IdempotencyKey => ({
  key: index === 0 ? key : `${key} ${index}`,
  fingerprint,
});

/** The jobs that this key already refers to; null for none. */
function earlierJobs(
  core: Core,
  read: Read,
  by: Actor,
  idempotency: IdempotencyKey | null,
): Outcome<readonly JobId[]> | null {
  if (idempotency === null) return null;
  const ids: JobId[] = [];
  for (let index = 0; index < maxSweepJobs; index += 1) {
    const found = earlierJob(core, read, by, keyAt(idempotency, index));
    if (found === null) break;
    if (!found.ok) return found;
    ids.push(found.value);
  }
  return ids.length === 0 ? null : accept(ids);
}

function repeated(core: Core, earlier: Outcome<readonly JobId[]>): Outcome<Sweep> {
  if (!earlier.ok) return earlier;
  const jobs = earlier.value.map(id => core.store.job(id)).filter(job => job !== null);
  const [first] = jobs;
  if (first === undefined)
    return refuse('job_not_found', 'The jobs to which this idempotency key belongs were deleted');
  const shown = jobs.map(({ id, spec: { about } }) => ({ id, name: about.name, sweep: about.sweep }));
  return accept({ group: first.spec.about.group, jobs: shown, warnings: [], isRepeat: true });
}

/** Returns the warnings about all configs, each of them once. */
function warningsOf(core: Core, drafts: readonly Draft[]): readonly JobWarning[] {
  const found = drafts.flatMap(({ spec, payload }) => configWarnings(core, spec, () => payload.config));
  return [...new Map(found.map(warning => [warning.message, warning])).values()];
}
