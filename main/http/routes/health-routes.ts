import { freemem, loadavg, platform, totalmem } from 'node:os';
import { healthApi, type HealthComponent, type HealthReport } from '../../../protocol/health-api.ts';
import { accept, type Refusal, refuse } from '../../../protocol/problem.ts';
import type { Orchestrator, HealthFacts } from '../../orchestrator/index.ts';
import type { ArtifactFiles } from '../../orchestrator/ports/index.ts';
import { maySeeWorkers } from '../auth/auth.ts';
import type { BackupHandler } from './backup-routes.ts';
import type { Router } from './route.ts';

/** The measurements for a health report. */
export interface Checks extends HealthFacts {
  /** Duration of one commit in milliseconds; null when it failed or was not tried. */
  readonly commitMs: number | null;
  /** Null when the free space could not be read. */
  readonly freeBytes: number | null;
  /** Disk space that uploads and logs must leave free. */
  readonly reserveBytes: number;
  readonly backup: {
    /** Age of the newest backup; null when there is none. */
    readonly ageMs: number | null;
    readonly hasFailed: boolean;
  };
  readonly uptimeMs: number;
}

type Verdict = Omit<HealthComponent, 'name' | 'latency_ms'>;

const hourMs = 3_600_000;
/** The server creates a backup every hour. After twice that time, a backup is overdue. */
const backupOverdueMs = 2 * hourMs;
/** A commit that takes longer counts as slow. A local disk needs milliseconds. */
const slowCommitMs = 1_000;
/** The health loop detects lost workers. If a run of the loop is overdue by more than this, the loop counts as stopped. */
const loopToleranceMs = 10_000;

/** @internal */
export function judgeHealth(checks: Checks): readonly HealthComponent[] {
  const toComponent = (name: HealthComponent['name'], verdict: Verdict, latencyMs: number | null = null) => ({
    name,
    ...verdict,
    latency_ms: latencyMs === null ? null : Math.round(latencyMs * 100) / 100,
  });
  return [
    toComponent('database', judgeDatabase(checks), checks.commitMs),
    toComponent('disk', judgeDisk(checks)),
    toComponent('clock', judgeClock(checks)),
    toComponent('health_loop', judgeLoop(checks)),
    toComponent('workers', judgeWorkers(checks)),
    toComponent('backup', judgeBackup(checks)),
  ];
}

/** @internal */
export function worstOf(components: readonly HealthComponent[]): HealthReport['status'] {
  const statuses = new Set(components.map(({ status }) => status));
  if (statuses.has('unhealthy')) return 'unhealthy';
  return statuses.has('degraded') ? 'degraded' : 'healthy';
}

const healthy = (message: string): Verdict => ({ status: 'healthy', message });
const degraded = (message: string): Verdict => ({ status: 'degraded', message });
const unhealthy = (message: string): Verdict => ({ status: 'unhealthy', message });

function judgeDatabase({ acceptsWrites, commitMs }: Checks): Verdict {
  if (!acceptsWrites || commitMs === null)
    return unhealthy('The database accepts no changes: the disk is full or fails. Reading still works');
  if (commitMs >= slowCommitMs)
    return degraded(`A commit takes ${(commitMs / 1_000).toFixed(1)} s: the disk is slow`);
  return healthy('The database accepts changes');
}

function judgeDisk({ freeBytes, reserveBytes }: Checks): Verdict {
  if (freeBytes === null) return unhealthy('The data folder cannot be read');
  const free = `${gib(freeBytes)} GiB free in the data folder`;
  return freeBytes <= reserveBytes
    ? degraded(
        `${free}, and ${gib(reserveBytes)} GiB are kept in reserve: the server refuses uploads and logs`,
      )
    : healthy(free);
}

function judgeClock({ clockJumpMs }: Checks): Verdict {
  if (clockJumpMs === null) return healthy('The wall clock agrees with the time since boot');
  const seconds = Math.round(Math.abs(clockJumpMs) / 1_000);
  const way = clockJumpMs > 0 ? 'ahead of' : 'behind';
  return degraded(`The wall clock is ${seconds} s ${way} the time that the server trusts: check time sync`);
}

function judgeLoop({ loop: { sinceMs, maxMs } }: Checks): Verdict {
  const seconds = Math.round(sinceMs / 1_000);
  return sinceMs > maxMs + loopToleranceMs
    ? unhealthy(`The health loop last ran ${seconds} s ago: lost workers go unnoticed. Restart the server`)
    : healthy(`The health loop ran ${seconds} s ago`);
}

function judgeWorkers({ workers: { total, connected, streams } }: Checks): Verdict {
  if (total === 0) return healthy('No workers yet');
  const message = `${connected} of ${total} workers connected, ${streams} streams open`;
  return connected === 0 ? degraded(message) : healthy(message);
}

function judgeBackup({ backup: { ageMs, hasFailed }, uptimeMs }: Checks): Verdict {
  const newest = ageMs === null ? 'there is none' : `the newest is ${Math.round(ageMs / 60_000)} min old`;
  if (hasFailed) return degraded(`The last backup failed; ${newest}. The log has the reason`);
  if (ageMs === null && uptimeMs < backupOverdueMs)
    return healthy('No backup yet: a new database gets its first one after an hour');
  if (ageMs === null || ageMs > backupOverdueMs) return degraded(`A backup is overdue: ${newest}`);
  return healthy(`Hourly backups work: ${newest}`);
}

const gib = (bytes: number): string => (bytes / 2 ** 30).toFixed(1);

export interface HealthDeps {
  readonly orchestrator: Orchestrator;
  readonly backups: Pick<BackupHandler, 'list' | 'hasFailed'>;
  readonly files: Pick<ArtifactFiles, 'freeBytes'>;
  readonly reserveBytes: number;
  readonly version: string;
}

export const notReady = (): { readonly ok: false; readonly refusal: Refusal } =>
  refuse('not_ready', 'The server stores no changes, because its disk is full or fails. Reading still works');

/** Mounts the health calls. Without a token, they only report whether the server works. All details need a token. */
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
    return accept({
      timestamp: Date.now() / 1_000,
      uptime_seconds: uptime(),
      load_avg_5min: platform() === 'win32' ? null : (loadavg()[1] ?? null),
      memory_percent: Math.round((1 - freemem() / totalmem()) * 1_000) / 10,
      ...orchestrator.queue.localGpus(),
      ...(query.include_allocation && {
        gpu_allocation: orchestrator.queue.gpuAllocation(maySeeWorkers(caller)),
      }),
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
