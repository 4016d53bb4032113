import { statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from '../failure.ts';

/** A check and its result. */
export type Check = {
  readonly what: string;
  /** `skipped` means that there was nothing to check. */
  readonly result: 'ok' | 'failed' | 'skipped';
  /** The finding; after a failure also what to do. */
  readonly detail: string;
};

export const passed = (what: string, detail: string): Check => ({ what, result: 'ok', detail });
export const failed = (what: string, detail: string): Check => ({ what, result: 'failed', detail });
export const skipped = (what: string, detail: string): Check => ({ what, result: 'skipped', detail });

/** With less free disk space, the server will soon refuse changes. */
const minFreeBytes = 512 * 1024 ** 2;
const secrets = ['admin-token', 'audit-key', 'audit-head', 'trainyard.db', 'url'] as const;

/** Checks the data folder of this machine. `isInUse` is true if an orchestrator that uses the folder has answered. */
export async function checkFolder(dataDir: string, isInUse: boolean): Promise<readonly Check[]> {
  if (statSync(dataDir, { throwIfNoEntry: false }) === undefined)
    return [skipped('Data folder', `${dataDir} does not exist yet. "trainyard server" creates it`)];
  const file = join(dataDir, 'trainyard.db');
  return [
    checkModes(dataDir),
    checkDiskSpace(dataDir),
    await checkLock(dataDir, isInUse),
    await checkDatabase(file, isInUse),
  ];
}

/** Checks that other users can neither write to the folder nor read its secrets. Read access to the folder itself is harmless. */
function checkModes(dataDir: string): Check {
  const what = 'Data folder';
  if (process.platform === 'win32') return passed(what, dataDir);
  const modeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  if ((modeOf(dataDir) & 0o022) !== 0)
    return failed(what, `Other users can write to ${dataDir}. Run "chmod go-w ${dataDir}"`);
  const open = secrets.map(name => join(dataDir, name)).filter(path => (modeOf(path) & 0o077) !== 0);
  if (open.length === 0) return passed(what, `${dataDir}. Only its owner can read the secrets in it`);
  const files = open.join(' ');
  return failed(what, `Other users can read ${files}. Run "chmod 600 ${files}"`);
}

function checkDiskSpace(dataDir: string): Check {
  const what = 'Disk';
  const { bavail, bsize } = statfsSync(dataDir);
  const free = `${((bavail * bsize) / 1024 ** 3).toFixed(1)} GB free`;
  if (bavail * bsize >= minFreeBytes) return passed(what, free);
  return failed(
    what,
    `Only ${free} on the disk of ${dataDir}. Free some space, or the server will reject changes`,
  );
}

async function checkLock(dataDir: string, isInUse: boolean): Promise<Check> {
  const what = 'Lock';
  const { holderOf } = await import('../../compose.ts');
  const holder = holderOf(dataDir);
  if (holder === null) return passed(what, 'No orchestrator uses the folder');
  if (isInUse) return passed(what, `Held by ${holder}`);
  return failed(
    what,
    `Held by ${holder}, which does not respond. Check its log, or stop it and start the server again`,
  );
}

async function checkDatabase(file: string, isInUse: boolean): Promise<Check> {
  const what = 'Database';
  if (isInUse) return passed(what, 'In use by the orchestrator');
  if (statSync(file, { throwIfNoEntry: false }) === undefined)
    return skipped(what, 'None yet. The first start of the server creates it');
  try {
    const { findDamage } = await import('../../compose.ts');
    const damage = findDamage(file);
    if (damage === null) return passed(what, `${file} is intact`);
    return failed(
      what,
      `${file} ${damage}. The next start of the server restores the last backup, and keeps this file aside`,
    );
  } catch (cause) {
    return failed(what, `${file} cannot be read: ${reasonOf(cause)}`);
  }
}
