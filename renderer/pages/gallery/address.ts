/** The view of the gallery, which is in the URL so that it can be shared. */
import { maxSampleJobs } from '../../../protocol/artifacts-api.ts';
import { JobId } from '../../../protocol/ids.ts';
import type { Unit } from './model.ts';

export interface GalleryView {
  /** Jobs to compare. The wall, which shows the samples of all jobs, shows these jobs as selected. */
  readonly jobs: readonly JobId[];
  /** True if the page shows the wall, where the user chooses jobs. Always true without jobs. */
  readonly isChoosing: boolean;
  readonly unit: Unit | null;
  /** Number of the step or epoch; null for the newest. */
  readonly position: number | null;
  /** Key of the prompt that keyboard shortcuts act on; null for the first prompt. */
  readonly prompt: string | null;
  /** The job whose sample fills the window; null for none. */
  readonly open: JobId | null;
}

export interface ViewProps {
  readonly view: GalleryView;
  /** Navigates to another view. `isReplacing` replaces the current history entry instead of adding one. */
  readonly onShow: (view: GalleryView, isReplacing: boolean) => void;
}

/** Reads the view from the URL parameters. Ignores invalid values. */
export function readView(params: URLSearchParams): GalleryView {
  const ids = (params.get('jobs') ?? '').split(',').flatMap(word => JobId.safeParse(word).data ?? []);
  const jobs = [...new Set(ids)].slice(0, maxSampleJobs);
  const [, unit, count] = /^(step|epoch)-(\d{1,12})$/.exec(params.get('at') ?? '') ?? [];
  const open = JobId.safeParse(params.get('open')).data;
  return {
    jobs,
    isChoosing: jobs.length === 0 || params.has('choose'),
    unit: unit === 'step' || unit === 'epoch' ? unit : null,
    position: count === undefined ? null : Number(count),
    prompt: params.get('prompt'),
    open: open !== undefined && jobs.includes(open) ? open : null,
  };
}

export function writeView(view: GalleryView): URLSearchParams {
  const { jobs, isChoosing, unit, position, prompt, open } = view;
  const params = new URLSearchParams();
  if (jobs.length === 0) return params;
  params.set('jobs', jobs.join(','));
  if (isChoosing) params.set('choose', '');
  if (unit !== null && position !== null) params.set('at', `${unit}-${position}`);
  if (prompt !== null) params.set('prompt', prompt);
  if (open !== null) params.set('open', open);
  return params;
}
