import { perLanguage } from '../../i18n/formats.ts';
import type { MessageKey, Translator } from '../../i18n/index.ts';
import { firstPage } from '../../i18n/en/first-page.ts';
import type { GpuTrouble, WorkerView } from '../../../protocol/worker.ts';
import { duration } from '../jobs/figures.ts';
import { gpuModel, shownState } from './facts.ts';

/** Summarizes the GPUs of a worker, such as "2 × RTX 4090 24 GB". */
export function gpusText(t: Translator, worker: WorkerView): string {
  const { gpu_count: count, gpu_name: name, gpu_vram_gb: vram } = worker;
  if (count === 0) return t('workers.gpus.none');
  const model = name === null ? t('workers.gpus.unnamed') : gpuModel(name);
  return vram === null
    ? t('workers.gpus', { count, model })
    : t('workers.gpus.memory', { count, model, vram: figure(t, vram) });
}

const figureFormat = perLanguage(language => new Intl.NumberFormat(language, { maximumFractionDigits: 1 }));

export const figure = (t: Translator, value: number): string => figureFormat(t.language).format(value);

/** Describes a row for screen readers. */
export const rowName = (t: Translator, worker: WorkerView): string =>
  t('workers.row', {
    name: worker.name,
    state: t(`state.${shownState(worker)}`),
    count: worker.gpu_count,
  });

/** Returns a text such as "connection lost, 12s". Returns null while the worker is connected or offline. */
export function lostText(
  t: Translator,
  { status, stream_closed_at: at }: WorkerView,
  now: number,
): string | null {
  if (at === null || status === 'offline') return null;
  return t('workers.lost', { time: duration((now - Date.parse(at)) / 1000, t.language) });
}

/** Returns a short reason for the state of a worker; null if the state needs no reason. */
export function reasonText(t: Translator, worker: WorkerView): string | null {
  const { status, status_reason: reason, drain, quarantine } = worker;
  if (drain !== null && status !== 'offline') {
    if (drain.reason === null) return t('workers.drain.short', { by: drain.by });
    return t('workers.drain.shortWhy', { by: drain.by, reason: drain.reason });
  }
  if (quarantine !== null && shownState(worker) === 'quarantined') return quarantine.reason;
  // Omit the missing stream, because the page shows the lost connection separately.
  if (worker.stream_closed_at !== null && reason === 'no_stream') return null;
  const [trouble] = worker.gpu_troubles;
  if (reason === 'gpu_trouble' && trouble !== undefined) return troubleText(t, trouble);
  const key = `workers.reason.${reason}`;
  return isKey(key) ? t(key) : null;
}

/** Names a GPU problem without the details from the rig, such as "GPU 1 is missing". */
export const troubleText = (t: Translator, { gpu, kind }: GpuTrouble): string =>
  t(`workers.gpuTrouble.${kind}`, { gpu });

/** Describes each GPU problem in one line, with the details from the rig. */
export const troubleTexts = (t: Translator, { gpu_troubles: troubles }: WorkerView): readonly string[] =>
  troubles.map(trouble =>
    t('workers.gpuTrouble.says', { what: troubleText(t, trouble), detail: trouble.detail }),
  );

const isKey = (key: string): key is MessageKey => Object.hasOwn(firstPage, key);
