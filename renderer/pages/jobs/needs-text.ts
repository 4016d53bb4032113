import type { JobView } from '../../../protocol/job.ts';
import { perLanguage } from '../../i18n/formats.ts';
import type { Translator } from '../../i18n/index.ts';

/** The requirements of a job for its workers. */
export type Needs = Pick<
  JobView,
  'gpu_count' | 'num_nodes' | 'gpu_vram_gb' | 'accelerator' | 'worker_labels'
> & { readonly target: string };

export const lists = perLanguage(language => new Intl.ListFormat(language, { type: 'unit', style: 'short' }));

/** Lists the requirements: "8 GPUs, 80 GB per GPU, gpu_type=h100*". Returns an empty text if there are none. */
export function needsText(
  { gpu_count: gpus, num_nodes: nodes, gpu_vram_gb: size, accelerator, worker_labels, target }: Needs,
  t: Translator,
): string {
  const labels = Object.entries(worker_labels).map(([name, pattern]) => `${name}=${pattern}`);
  return lists(t.language).format([
    ...(nodes > 1 ? [t('jobs.needs.nodes', { count: nodes })] : []),
    ...(target === 'local' ? [t('jobs.needs.local')] : []),
    ...(gpus > 1 || (gpus > 0 && labels.length === 0) ? [t('jobs.needs.gpus', { count: gpus })] : []),
    ...(accelerator === null ? [] : [accelerator]),
    ...(size > 0 ? [t('jobs.needs.vram', { size })] : []),
    ...labels,
  ]);
}
