import type { JobId } from '../../../../protocol/ids.ts';
import type { JobAbout } from '../../../../protocol/job-about.ts';
import type { JobWarning } from '../../../../protocol/job.ts';
import { accept, type Outcome } from '../../../../protocol/problem.ts';
import type { SweepRequest } from '../../../../protocol/sweep.ts';
import type { Core } from '../../core.ts';
import type { Actor } from '../../model.ts';
import type { Configs } from '../../ports/index.ts';
import { type Draft, prepareSweep } from '../../rules/drafts.ts';
import { sweepGroup } from '../../rules/sweeps.ts';
import { bindingsOf, enterJobs, warningsOf } from './batches.ts';
import { draftWithData, noLocalRuns } from './new-job.ts';
import { earlierJobs, type IdempotencyKey, jobsOfKey } from './submission-keys.ts';

export interface Sweep {
  /** Null if the group was removed since. */
  readonly group: string | null;
  /** `id`: null in a dry run. */
  readonly jobs: readonly (Pick<JobAbout, 'name' | 'sweep'> & { readonly id: JobId | null })[];
  readonly warnings: readonly JobWarning[];
  /** The idempotency key was used before, so nothing was submitted. */
  readonly isRepeat: boolean;
}

/** Submissions of all combinations of config values. */
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
      const entries = drafts.map(draft => ({ request, draft }));
      const entered = await enterJobs(core, entries, { by, idempotency, named: outcome => outcome });
      if (!entered.ok) return entered;
      const { ids, isRepeat } = entered.value;
      if (isRepeat) return repeated(core, accept(ids));
      return accept({ ...sweepOf(drafts, ids), warnings: warningsOf(core, drafts), isRepeat });
    },

    /** Returns the grid without submitting it. Refuses what `sweep` refuses. */
    async drySweep(request: SweepRequest, by: Actor): Promise<Outcome<Sweep>> {
      const drafts = await prepare(request, by);
      if (!drafts.ok) return drafts;
      const bindings = bindingsOf(core.store, request, by);
      if (!bindings.ok) return bindings;
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

function repeated(core: Core, earlier: Outcome<readonly JobId[]>): Outcome<Sweep> {
  if (!earlier.ok) return earlier;
  const jobs = jobsOfKey(core.store, earlier.value);
  if (!jobs.ok) return jobs;
  const shown = jobs.value.map(({ id, spec: { about } }) => ({ id, name: about.name, sweep: about.sweep }));
  return accept({
    group: jobs.value[0]?.spec.about.group ?? null,
    jobs: shown,
    warnings: [],
    isRepeat: true,
  });
}
