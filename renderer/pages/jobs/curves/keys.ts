import type { MessageKey, Translator } from '../../../i18n/index.ts';

const gpuFigures = ['utilization', 'memory_mb', 'temperature_c', 'power_w'] as const;
type GpuFigure = (typeof gpuFigures)[number];

/** The content of one chart: a metric of the trainer, or a metric of all GPUs. */
export type ChartPlan =
  | { readonly kind: 'trainer'; readonly id: string; readonly keys: readonly ChartKey[] }
  | {
      readonly kind: 'gpu';
      readonly id: string;
      readonly figure: GpuFigure;
      readonly keys: readonly ChartKey[];
    };

export interface ChartKey {
  readonly key: string;
  /** The index of the GPU on its machine; null for metrics of the trainer. */
  readonly gpu: number | null;
}

/** The most useful metrics, which come first. Other metrics follow in the order in which the trainer reported them. */
const firstMetrics = ['loss', 'learning_rate', 'steps_per_second'];
const gpuKey = /^gpu\.(\d{1,3})\.(.+)$/;

/** Returns one chart per metric of the trainer, then one per GPU metric with a line for each GPU. */
export function chartsOf(keys: readonly string[]): readonly ChartPlan[] {
  const gpus = keys.flatMap(key => gpuOf(key) ?? []);
  const others = keys.filter(key => gpuOf(key) === null);
  const ordered = [
    ...firstMetrics.filter(key => others.includes(key)),
    ...others.filter(key => !firstMetrics.includes(key)),
  ];
  return [
    ...ordered.map(key => ({ kind: 'trainer' as const, id: key, keys: [{ key, gpu: null }] })),
    ...gpuFigures
      .map(figure => ({
        kind: 'gpu' as const,
        id: `gpu.${figure}`,
        figure,
        keys: gpus.filter(each => each.figure === figure).toSorted((a, b) => a.gpu - b.gpu),
      }))
      .filter(({ keys: keysOfChart }) => keysOfChart.length > 0),
  ];
}

function gpuOf(key: string): (ChartKey & { readonly gpu: number; readonly figure: GpuFigure }) | null {
  const [, gpu, name] = gpuKey.exec(key) ?? [];
  const figure = gpuFigures.find(each => each === name);
  return gpu === undefined || figure === undefined ? null : { key, gpu: Number(gpu), figure };
}

const titleKeys: Readonly<Record<string, MessageKey>> = {
  loss: 'curves.key.loss',
  learning_rate: 'curves.key.rate',
  steps_per_second: 'curves.key.speed',
};

/** Returns the translated name of the metric, or the trainer's own name when there is no translation. */
export function chartTitle(chart: ChartPlan, t: Translator): string {
  if (chart.kind === 'gpu') return t(`curves.gpu.${chart.figure}`);
  const key = titleKeys[chart.id];
  return key === undefined ? chart.id : t(key);
}
