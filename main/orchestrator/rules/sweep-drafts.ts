import type { SweepValues } from '../../../protocol/job-about.ts';
import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import type { SubmitRequest } from '../../../protocol/submission.ts';
import { countJobs, type SweepAxis, type SweepRequest } from '../../../protocol/sweep.ts';
import type { Bundle } from '../../../trainers/index.ts';
import type { Configs } from '../ports/index.ts';
import { bundleOf, type Draft, draftOf } from './drafts.ts';
import { gridOf, sweepName, withValues } from './sweeps.ts';

/** Maximum total length of a sweep's configs in characters, because one transaction stores a copy for each job. */
const maxSweepText = 32_000_000;

/** A job of a sweep, which has one job for each combination of values. `values`: the combination of this job. */
export interface SweepPoint {
  readonly request: SubmitRequest;
  readonly bundle: Bundle;
  readonly values: SweepValues;
}

/** Builds a draft for each job of a sweep. Refuses the whole sweep if one of its jobs is invalid. */
export async function prepareSweep(
  configs: Configs,
  request: SweepRequest,
  group: string,
): Promise<Outcome<readonly Draft[]>> {
  const bundle = await bundleOf(configs, request);
  if (!bundle.ok) return bundle;
  const tooLarge = sweepTooLarge(bundle.value, request.sweep);
  if (tooLarge !== null) return tooLarge;
  const points: SweepPoint[] = [];
  for (const values of gridOf(request.sweep)) {
    const config = withValues(bundle.value.config, values);
    if (!config.ok) return config;
    points.push({ request, bundle: { ...bundle.value, config: config.value }, values });
  }
  return sweepDrafts(points, group);
}

/** Returns a refusal if the jobs of a sweep would take too much space in the database, otherwise null. */
export function sweepTooLarge(bundle: Bundle, axes: readonly SweepAxis[]): Outcome<never> | null {
  const count = countJobs(axes);
  return count * JSON.stringify(bundle).length > maxSweepText
    ? refuse('invalid_request', `The config is too large for ${count} jobs: submit fewer at once`)
    : null;
}

/** Builds a draft for each point of a grid. Refuses all points if one of them is invalid. */
export function sweepDrafts(points: readonly SweepPoint[], group: string): Outcome<readonly Draft[]> {
  const drafts: Draft[] = [];
  for (const { request, bundle, values } of points) {
    const draft = draftOf(request, bundle);
    if (!draft.ok) return draft;
    const { spec } = draft.value;
    const name = sweepName(request.name ?? spec.configName, values);
    drafts.push({ ...draft.value, spec: { ...spec, about: { ...spec.about, name, group, sweep: values } } });
  }
  return accept(drafts);
}
