import type { JobUsage } from '../../protocol/job.ts';

export const gpuHoursText = (hours: number): string => hours.toFixed(2);

/** Returns null when the energy is unknown. */
export const energyText = (kwh: number | null): string | null =>
  kwh === null ? null : `${kwh.toFixed(kwh < 10 ? 3 : 1)} kWh`;

/** Returns null when the cost is unknown. */
export const costText = (cost: number | null, currency: string | null): string | null =>
  cost === null ? null : `${cost.toFixed(2)}${currency === null ? '' : ` ${currency}`}`;

/** Describes GPU-hours, energy and cost of a job in one line. */
export function usageText({ gpu_hours: hours, energy_kwh: kwh, cost, currency }: JobUsage): string {
  const price = costText(cost, currency);
  const parts = [`${gpuHoursText(hours)} GPU-hours`, energyText(kwh), price && `cost ${price}`];
  return parts.filter(part => part !== null).join(', ');
}
