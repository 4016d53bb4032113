import { z } from 'zod';
import { call } from './call.ts';

/** Maximum number of days in one response. */
export const maxUsageDays = 30;

export const UsageDay = z
  .object({
    day: z.iso.date().describe('The day, in UTC.'),
    gpu_hours: z.number().describe('GPU-hours of jobs that still exist.'),
    energy_kwh: z
      .number()
      .nullable()
      .describe('Energy of the GPUs of all workers, idle or not; null when no worker reported its power.'),
    cost: z
      .number()
      .nullable()
      .describe(
        "Cost of the machines of pools, and of the electricity of other workers, at today's prices. Null when no price is known.",
      ),
  })
  .meta({ id: 'UsageDay', description: 'GPU-hours, energy and cost of one day.' });
export type UsageDay = z.output<typeof UsageDay>;

/** GPU-hours, energy and cost of the fleet. */
export const usageApi = {
  days: call({
    method: 'GET',
    path: '/api/usage',
    authority: 'queue.view',
    own: 'refused',
    summary: 'List the GPU-hours, energy and cost of the last days',
    query: z.object({
      days: z.coerce
        .number()
        .int()
        .min(1)
        .max(maxUsageDays)
        .default(7)
        .describe('Number of days, including today.'),
    }),
    reply: z.object({
      days: z.array(UsageDay).describe('The days in order; the last one is today.'),
      currency: z.string().nullable().describe('Currency of the costs; null when none is set.'),
    }),
  }),
};
