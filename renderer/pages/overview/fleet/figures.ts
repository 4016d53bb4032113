/** The figures that the GPU map can show as colours. */
import type { FleetTranslator } from '../../../app/fleet-texts.ts';
import { figure } from '../../workers/texts.ts';
import type { GpuCell } from './gpu-cells.ts';

export const mapFigures = ['state', 'load', 'memory', 'temperature', 'power'] as const;
/** `state`: whether a job uses the GPU, and how busy it is. */
export type MapFigure = (typeof mapFigures)[number];

export const parseMapFigure = (stored: unknown): MapFigure =>
  mapFigures.find(each => each === stored) ?? 'state';

/** Temperatures at which a square is empty and full, in degrees Celsius. */
export const temperatures = { min: 30, max: 100 } as const;

/** Returns a figure of a GPU as a share from 0 to 1; null if the figure is not reported or its maximum is unknown. */
export function shareOf({ figures, totalGb }: GpuCell, kind: Exclude<MapFigure, 'state'>): number | null {
  if (figures === null) return null;
  const { utilization, vram_used_gb: used, temperature_c: degrees, power_w: power } = figures;
  const { min, max } = temperatures;
  switch (kind) {
    case 'load':
      return share(utilization, 100);
    case 'memory':
      return share(used, totalGb);
    case 'temperature':
      return degrees === null ? null : share(Math.max(0, degrees - min), max - min);
    case 'power':
      return share(power, figures.power_limit_w);
  }
}

/** Rounds the share to steps of 5 %, so that small changes of a figure do not change the page. */
const share = (value: number | null, max: number | null): number | null =>
  value === null || max === null || max === 0 ? null : Math.round(20 * Math.min(1, value / max)) / 20;

/** Returns a figure of a GPU as text; null when it is not reported. */
export function figureText(
  t: FleetTranslator,
  { figures, totalGb }: GpuCell,
  kind: Exclude<MapFigure, 'state'>,
): string | null {
  if (figures === null) return null;
  const { utilization, vram_used_gb: used, temperature_c: degrees, power_w: power } = figures;
  switch (kind) {
    case 'load':
      return utilization === null ? null : t('workers.percent', { value: Math.round(utilization) });
    case 'memory':
      if (used === null) return null;
      return totalGb === null
        ? t('map.gb', { size: figure(t, used) })
        : t('workers.vram', { used: figure(t, used), total: figure(t, totalGb) });
    case 'temperature':
      return degrees === null ? null : t('fleet.celsius', { value: Math.round(degrees) });
    case 'power':
      return power === null ? null : t('fleet.watts', { value: Math.round(power) });
  }
}
