import { freemem, loadavg, platform, totalmem } from 'node:os';
import { healthApi } from '../../../protocol/health-api.ts';
import { accept, type Refusal, refuse } from '../../../protocol/problem.ts';
import type { Orchestrator } from '../../orchestrator/index.ts';
import type { ArtifactFiles } from '../../orchestrator/ports/index.ts';
import { principalBehind } from '../auth/auth.ts';
import type { BackupHandler } from './backup-routes.ts';
import { type Checks, judgeHealth, worstOf } from './health-report.ts';
import type { Router } from './route.ts';

export interface HealthDeps {
  readonly orchestrator: Orchestrator;
  readonly backups: Pick<BackupHandler, 'list' | 'hasFailed'>;
  readonly files: Pick<ArtifactFiles, 'freeBytes'>;
  readonly reserveBytes: number;
  readonly version: string;
}

export const notReady = (): { readonly ok: false; readonly refusal: Refusal } =>
  refuse('not_ready', 'The disk takes no changes: it is full, or fails. Contact and reading go on');

/** Calls without a token report only whether the server works; all details need a token. */
export function mountHealthRoutes(router: Router, deps: HealthDeps): void {
  const { orchestrator, version } = deps;
  router.answer(healthApi.live, () => accept({ status: 'ok' as const }));
  router.answer(healthApi.ready, () =>
    orchestrator.lifecycle.acceptsWrites() ? accept({ status: 'ready' as const }) : notReady(),
  );
  router.answer(healthApi.report, async () => {
    const components = judgeHealth(await check(deps));
    return accept({
      status: worstOf(components),
      version,
      uptime_seconds: uptime(),
      timestamp: new Date().toISOString(),
      components: [...components],
    });
  });
  router.answer(healthApi.status, ({ query, caller }) => {
    const maySeeWorkers = principalBehind(caller).permissions.includes('admin.workers');
    return accept({
      timestamp: Date.now() / 1_000,
      uptime_seconds: uptime(),
      load_avg_5min: platform() === 'win32' ? null : (loadavg()[1] ?? null),
      memory_percent: Math.round((1 - freemem() / totalmem()) * 1_000) / 10,
      ...orchestrator.queue.localGpus(),
      ...(query.include_allocation && { gpu_allocation: orchestrator.queue.gpuAllocation(maySeeWorkers) }),
    });
  });
}

const uptime = (): number => Math.round(process.uptime() * 10) / 10;

async function check({ orchestrator, backups, files, reserveBytes }: HealthDeps): Promise<Checks> {
  const facts = orchestrator.lifecycle.health();
  const [commitMs, freeBytes] = await Promise.all([
    facts.acceptsWrites ? orchestrator.lifecycle.timeCommit().catch(() => null) : null,
    files.freeBytes().catch(() => null),
  ]);
  const newest = backups.list()[0];
  return {
    ...facts,
    commitMs,
    freeBytes,
    reserveBytes,
    backup: {
      ageMs: newest === undefined ? null : Math.max(0, Date.now() - newest.at),
      hasFailed: backups.hasFailed(),
    },
    uptimeMs: process.uptime() * 1_000,
  };
}
