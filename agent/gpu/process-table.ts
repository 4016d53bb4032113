import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { JobId } from '../../protocol/ids.ts';
import type { ProcessTable } from './holders.ts';
import { parseStat } from '../process/processes-linux.ts';

/**
 * Looks up processes in Linux's /proc; null on other platforms, where each lookup would have to run a program. A process belongs
 * to a job if its environment names that job's config: a trainer's children inherit its environment.
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

/** Returns '' when the file cannot be read. Another user's process hides some of its files. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
