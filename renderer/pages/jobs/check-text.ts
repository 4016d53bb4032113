import type { WorkerReason } from '../../../protocol/explain.ts';
import type { MessageKey, Translator } from '../../i18n/index.ts';

const keys = {
  never_registered: 'jobs.check.neverRegistered',
  draining: 'jobs.check.draining',
  busy: 'jobs.check.busy',
  settling: 'jobs.check.settling',
  no_stream: 'jobs.check.noStream',
  leaving: 'jobs.check.leaving',
  quarantined: 'jobs.check.quarantined',
  gpu_trouble: 'jobs.check.gpuTrouble',
  local_limit: 'jobs.check.localLimit',
  gpu_count: 'jobs.check.gpuCount',
  gpu_limit: 'jobs.check.gpuLimit',
  vram: 'jobs.check.vram',
  accelerator: 'jobs.check.accelerator',
  guard: 'jobs.check.guard',
  config_key: 'jobs.check.configKey',
  data: 'jobs.check.data',
  trainer: 'jobs.check.trainer',
  label: 'jobs.check.label',
  avoid_previous: 'jobs.check.avoidPrevious',
} as const satisfies Readonly<Partial<Record<WorkerReason['code'], MessageKey>>>;

/** Describes in the panel's language why a worker cannot take a job. */
export function checkText({ code, wanted, there }: WorkerReason, t: Translator): string {
  if (code === 'offline') return t(there === 'goodbye' ? 'jobs.check.signedOff' : 'jobs.check.silent');
  if (code === 'target') return t(wanted === 'this machine' ? 'jobs.check.onlyHere' : 'jobs.check.notHere');
  if (code === 'draining' && there !== null) return t('jobs.check.drainingFor', { reason: there });
  return t(keys[code], { wanted: wanted ?? '', there: there ?? '' });
}
