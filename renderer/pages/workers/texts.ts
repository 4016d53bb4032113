import { perLanguage } from '../../i18n/formats.ts';
import type { MessageKey, Translator } from '../../i18n/index.ts';
import { en } from '../../i18n/en/index.ts';
import type { GpuTrouble, WorkerView } from '../../../protocol/worker.ts';
import { duration } from '../jobs/figures.ts';
import { gpuModel, shownState } from './facts.ts';

/** Such as "2 × RTX 4090 24 GB". */
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

/** The row's name for screen readers. */
export const rowName = (t: Translator, worker: WorkerView): string =>
  t('workers.row', {
    name: worker.name,
    state: t(`state.${shownState(worker)}`),
    count: worker.gpu_count,
  });

/** Such as "connection lost, 12s"; null while the worker is connected, and once it is offline. */
export function lostText(
  t: Translator,
  { status, stream_closed_at: at }: WorkerView,
  now: number,
): string | null {
  if (at === null || status === 'offline') return null;
  return t('workers.lost', { time: duration((now - Date.parse(at)) / 1000, t.language) });
}

/** Explains the state briefly; null when the state is self-explanatory. */
export function reasonText(t: Translator, worker: WorkerView): string | null {
  const { status, status_reason: reason, drain, quarantine } = worker;
  if (drain !== null && status !== 'offline') {
    if (drain.reason === null) return t('workers.drain.short', { by: drain.by });
    return t('workers.drain.shortWhy', { by: drain.by, reason: drain.reason });
  }
  if (quarantine !== null && shownState(worker) === 'quarantined') return quarantine.reason;
  // A lost connection explains more than the missing stream.
  if (worker.stream_closed_at !== null && reason === 'no_stream') return null;
  const key = `workers.reason.${reason}`;
  return isKey(key) ? t(key) : null;
}

/** Such as "GPU 1 is missing", without the rig's details. */
export const troubleText = (t: Translator, { gpu, kind }: GpuTrouble): string =>
  t(`workers.gpuTrouble.${kind}`, { gpu });

/** One line per GPU trouble, with the rig's details. */
export const troubleTexts = (t: Translator, { gpu_troubles: troubles }: WorkerView): readonly string[] =>
  troubles.map(trouble =>
    t('workers.gpuTrouble.says', { what: troubleText(t, trouble), detail: trouble.detail }),
  );

/** Describes an audit type such as `worker.draining`; returns the type itself when there is no text. */
export function eventText(t: Translator, type: string): string {
  const key = `workers.event.${type.replace(/^worker\./, '')}`;
  return type.startsWith('worker.') && isKey(key) ? t(key) : type;
}

const isKey = (key: string): key is MessageKey => Object.hasOwn(en, key);
