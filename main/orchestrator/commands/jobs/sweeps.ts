import type { JobId } from '../../../../protocol/ids.ts';
import type { JobAbout } from '../../../../protocol/job-about.ts';
import type { JobWarning } from '../../../../protocol/job.ts';
import { accept, type Outcome } from '../../../../protocol/problem.ts';
import type { SweepRequest } from '../../../../protocol/sweep.ts';
import type { TemplateSweep } from '../../../../protocol/template.ts';
import type { Core } from '../../core.ts';
import type { Actor } from '../../model.ts';
import type { Configs } from '../../ports/index.ts';
import { fromTemplate } from '../../rules/drafts.ts';
import { prepareSweep, sweepDrafts } from '../../rules/sweep-drafts.ts';
import { sweepGroup } from '../../rules/sweeps.ts';
import { templatePoints } from '../../rules/template-sweeps.ts';
import { bindingsOf, submitJobs, type Entry, warningsOf } from './batches.ts';
import { completeDraft } from './new-job.ts';
import { earlierJobs, type IdempotencyKey, jobsOfKey } from './submission-keys.ts';
import { unknownTemplate } from './templates.ts';

export interface Sweep {
  /** Null if a user has removed the group from the jobs. */
  readonly group: string | null;
  /** `id`: null in a dry run. */
  readonly jobs: readonly (Pick<JobAbout, 'name' | 'sweep'> & { readonly id: JobId | null })[];
  readonly warnings: readonly JobWarning[];
  /** Whether the idempotency key was used before, so that nothing was submitted. */
  readonly isRepeat: boolean;
}

type Prepare = () => Outcome<readonly Entry[]> | Promise<Outcome<readonly Entry[]>>;

/** Calls that submit one job for each combination of values, from a config or a template. */
export function createSweeps(core: Core, configs: Configs) {
  const groupFor = (name: string): string => sweepGroup(name, core.clock.iso(core.clock.wall()));

  const complete = (entries: readonly Entry[], by: Actor): Outcome<readonly Entry[]> => {
    const completed: Entry[] = [];
    for (const { request, draft } of entries) {
      const checked = completeDraft(core, request, accept(draft), by);
      if (!checked.ok) return checked;
      completed.push({ request, draft: checked.value });
    }
    return accept(completed);
  };

  const fromConfig = async (request: SweepRequest, by: Actor): Promise<Outcome<readonly Entry[]>> => {
    const group = request.group ?? groupFor(request.name ?? request.config_name ?? 'sweep');
    const drafts = await prepareSweep(configs, request, group);
    if (!drafts.ok) return drafts;
    return complete(
      drafts.value.map(draft => ({ request, draft })),
      by,
    );
  };

  const fromTemplateNamed = (name: string, request: TemplateSweep, by: Actor): Outcome<readonly Entry[]> => {
    const template = core.store.template(name);
    const submission = core.store.templateSubmission(name);
    if (template === null || submission === null) return unknownTemplate(name);
    const points = templatePoints({ submission, parameters: template.parameters }, request);
    if (!points.ok) return points;
    // The template's name describes the jobs better than the name of its config.
    const named = points.value.map(point => ({
      ...point,
      request: { ...point.request, name: point.request.name ?? name },
    }));
    const group = named[0]?.request.group ?? groupFor(named[0]?.request.name ?? name);
    const drafts = sweepDrafts(named, group);
    if (!drafts.ok) return drafts;
    const entries = named.flatMap((point, index) => {
      const draft = drafts.value[index];
      return draft === undefined ? [] : [{ request: point.request, draft: fromTemplate(draft, name) }];
    });
    return complete(entries, by);
  };

  /** Submits all jobs of the grid in one transaction, or none. The idempotency key refers to all of them. */
  const submit = async (
    prepare: Prepare,
    by: Actor,
    idempotency: IdempotencyKey | null,
  ): Promise<Outcome<Sweep>> => {
    // Checked before the config is loaded, because a repeated call must not depend on its current state.
    const earlier = earlierJobs(core, core.store, by, idempotency);
    if (earlier !== null) return repeated(core, earlier);
    const entries = await prepare();
    if (!entries.ok) return entries;
    const submitted = await submitJobs(core, entries.value, {
      by,
      idempotency,
      nameRefused: outcome => outcome,
    });
    if (!submitted.ok) return submitted;
    const { ids, isRepeat } = submitted.value;
    if (isRepeat) return repeated(core, accept(ids));
    return accept(sweepOf(core, entries.value, ids));
  };

  /** Returns the grid without submitting it. Refuses what `submit` refuses. */
  const dryRun = async (prepare: Prepare, by: Actor): Promise<Outcome<Sweep>> => {
    const entries = await prepare();
    if (!entries.ok) return entries;
    for (const entry of entries.value) {
      const bindings = bindingsOf(core.store, entry, by);
      if (!bindings.ok) return bindings;
    }
    return accept(sweepOf(core, entries.value, []));
  };

  return {
    sweep: (request: SweepRequest, by: Actor, idempotency: IdempotencyKey | null) =>
      submit(() => fromConfig(request, by), by, idempotency),

    drySweep: (request: SweepRequest, by: Actor) => dryRun(() => fromConfig(request, by), by),

    sweepTemplate: (name: string, request: TemplateSweep, by: Actor, idempotency: IdempotencyKey | null) =>
      submit(() => fromTemplateNamed(name, request, by), by, idempotency),

    dryTemplateSweep: (name: string, request: TemplateSweep, by: Actor) =>
      dryRun(() => fromTemplateNamed(name, request, by), by),
  };
}

function sweepOf(core: Core, entries: readonly Entry[], ids: readonly JobId[]): Sweep {
  const drafts = entries.map(({ draft }) => draft);
  return {
    group: drafts[0]?.spec.about.group ?? null,
    jobs: drafts.map(({ spec: { about } }, index) => ({
      id: ids[index] ?? null,
      name: about.name,
      sweep: about.sweep,
    })),
    warnings: warningsOf(core, drafts),
    isRepeat: false,
  };
}

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
