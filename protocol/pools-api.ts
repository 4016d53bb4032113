import { z } from 'zod';
import { call } from './call.ts';
import { LaunchId, PoolId } from './ids.ts';
import { Line } from './text.ts';
import { EngineCheck, LaunchView, NewPool, PoolView } from './pool.ts';

const byPool = z.object({ id: PoolId });
const done = z.object({ success: z.literal(true).describe('Always true.') });

/** Pools of machines, for people and scripts with `Authorization: Bearer`. */
export const poolsApi = {
  list: call({
    method: 'GET',
    path: '/api/admin/pools',
    authority: 'admin.pools',
    summary: 'List pools',
    reply: z.object({
      pools: z.array(PoolView).describe('Pools in order of creation; jobs prefer the first one that fits.'),
    }),
  }),
  create: call({
    method: 'POST',
    path: '/api/admin/pools',
    authority: 'admin.pools',
    summary: 'Create a pool, without checking its engine',
    body: NewPool,
    reply: PoolView,
  }),
  get: call({
    method: 'GET',
    path: '/api/admin/pools/:id',
    authority: 'admin.pools',
    summary: 'Show a pool',
    params: byPool,
    reply: PoolView,
  }),
  update: call({
    method: 'PUT',
    path: '/api/admin/pools/:id',
    authority: 'admin.pools',
    summary: 'Replace all settings of a pool, and try again the machines that its engine refused',
    params: byPool,
    body: NewPool,
    reply: PoolView,
  }),
  remove: call({
    method: 'DELETE',
    path: '/api/admin/pools/:id',
    authority: 'admin.pools',
    summary: 'Delete a pool that has no open launches, with its list of past launches',
    params: byPool,
    reply: done,
  }),
  pause: call({
    method: 'POST',
    path: '/api/admin/pools/:id/pause',
    authority: 'admin.pools',
    summary: 'Stop a pool from ordering machines; running machines continue',
    params: byPool,
    body: z.strictObject({
      reason: Line.max(500).default('').describe('Reason that the pool shows.'),
      end_launches: z
        .boolean()
        .default(false)
        .describe('Also ends all its launches: their workers save, and their jobs return to the queue.'),
    }),
    reply: PoolView,
  }),
  resume: call({
    method: 'POST',
    path: '/api/admin/pools/:id/resume',
    authority: 'admin.pools',
    summary: 'Resume a pool, and try again the machines that its engine refused',
    params: byPool,
    reply: PoolView,
  }),
  check: call({
    method: 'POST',
    path: '/api/admin/pools/:id/check',
    authority: 'admin.pools',
    summary: 'Check that the engine of a pool is reachable and accepts orders',
    params: byPool,
    reply: EngineCheck,
  }),
  test: call({
    method: 'POST',
    path: '/api/admin/pools/:id/test',
    authority: 'admin.pools',
    summary: 'Test a pool: launch one machine whose worker joins and leaves again',
    params: byPool,
    reply: LaunchView,
  }),
  launches: call({
    method: 'GET',
    path: '/api/admin/pools/:id/launches',
    authority: 'admin.pools',
    summary: 'List the newest launches of a pool',
    params: byPool,
    query: z.object({
      limit: z.coerce
        .number()
        .int()
        .min(1)
        .max(500)
        .default(50)
        .describe('Maximum number of launches to return.'),
    }),
    reply: z.object({ launches: z.array(LaunchView).describe('Launches, newest first.') }),
  }),
  launch: call({
    method: 'GET',
    path: '/api/admin/launches/:id',
    authority: 'admin.pools',
    summary: 'Show a launch',
    params: z.object({ id: LaunchId }),
    reply: LaunchView,
  }),
  endLaunch: call({
    method: 'POST',
    path: '/api/admin/launches/:id/end',
    authority: 'admin.pools',
    summary: 'End a launch: its worker saves, and its job returns to the queue',
    params: z.object({ id: LaunchId }),
    reply: LaunchView,
  }),
} as const;
