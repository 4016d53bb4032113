import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { JobId } from '../protocol/ids.ts';
import type { ProcessTable } from './gpu-holders.ts';
import { parseStat } from './processes-linux.ts';

/**
 * The processes of this machine, as Linux shows them; null elsewhere, where asking for one takes a program. A trainer's
 * environment names the config of its job, and all that it starts inherits that.
 */
export function openProcessTable(platform: string, workDir: string, proc = '/proc'): ProcessTable | null {
  if (platform !== 'linux') return null;
  const own = read(`${proc}/self/cgroup`);
  return pid => {
    const stat = parseStat(read(`${proc}/${pid}/stat`));
    if (stat === null) return null;
    const { parent, group, session } = stat;
    return {
      parent,
      group,
      session,
      isContained: isContained(read(`${proc}/${pid}/cgroup`), own),
      name: read(`${proc}/${pid}/comm`).trim() || 'unknown',
      jobId: jobOf(read(`${proc}/${pid}/environ`), workDir),
    };
  };
}

const container = /docker|containerd|libpod|kubepods|lxc/;
const isContained = (cgroup: string, own: string): boolean => cgroup !== own && container.test(cgroup);

function jobOf(environ: string, workDir: string): JobId | null {
  const variable = environ.split('\0').find(entry => entry.startsWith('CONFIG_PATH='));
  const folder = dirname(variable?.slice('CONFIG_PATH='.length) ?? '');
  const job = JobId.safeParse(basename(folder));
  return dirname(folder) === workDir && job.success ? job.data : null;
}

/** Of somebody else's process not all may be read. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
