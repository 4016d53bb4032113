import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../../agent/clock.ts';
import type { Processes } from '../../../../agent/process/processes.ts';
import { lockState } from '../../../../agent/state/state-folder.ts';
import { tempFolder, writeFile } from '../builders.ts';
import { processes as realProcesses } from '../guard-fixture.ts';

/** A machine that runs processes with these pids. Process 7 has the start time t7. */
const machineOf = (...pids: readonly number[]): Processes => ({
  ...realProcesses,
  identify: async pid => (pids.includes(pid) ? { pid, start: `t${pid}` } : null),
});
const lock = (dir: string, pid: number, processes: Processes) =>
  lockState({ dir, pid, processes, clock: systemClock });
const ownerIn = (dir: string): unknown => JSON.parse(readFileSync(join(dir, 'lock'), 'utf8'));

describe('lock of a state folder', () => {
  it('creates and locks a folder with a private lock file, and removes the lock on release', async () => {
    const dir = join(tempFolder(), 'a/rig');
    const locked = await lock(dir, 7, machineOf(7));
    expect(locked.kind).toBe('mine');
    expect(ownerIn(dir)).toEqual({ pid: 7, start: 't7' });
    expect(statSync(join(dir, 'lock')).mode & 0o777).toBe(0o600);
    if (locked.kind === 'mine') locked.release();
    expect(existsSync(join(dir, 'lock'))).toBe(false);
  });

  it('refuses to lock a folder that another process uses', async () => {
    const dir = tempFolder();
    await lock(dir, 7, machineOf(7));
    expect(await lock(dir, 8, machineOf(7, 8))).toEqual({ kind: 'held', by: { pid: 7, start: 't7' } });
    expect(ownerIn(dir)).toEqual({ pid: 7, start: 't7' });
  });

  it.each([
    ['whose owner has ended', { pid: 7, start: 't7' }, [8]],
    ['whose lock has a pid that another process now uses', { pid: 7, start: 'earlier' }, [7, 8]],
    ['with a damaged lock', 'broken', [7, 8]],
  ])('locks a folder %s', async (_title, owner, pids) => {
    const dir = tempFolder();
    writeFileSync(join(dir, 'lock'), typeof owner === 'string' ? owner : JSON.stringify(owner));
    expect((await lock(dir, 8, machineOf(...pids))).kind).toBe('mine');
    expect(ownerIn(dir)).toEqual({ pid: 8, start: 't8' });
  });

  it('gives the lock to only one of two agents that start at the same time', async () => {
    const dir = tempFolder();
    // Both agents find that process 6 is dead before one of them writes the lock.
    writeFileSync(join(dir, 'lock'), JSON.stringify({ pid: 6, start: 't6' }));
    const locks = await Promise.all([7, 8].map(pid => lock(dir, pid, machineOf(7, 8))));
    expect(locks.map(({ kind }) => kind).toSorted()).toEqual(['held', 'mine']);
  });

  it('does not release a lock that another agent has taken over', async () => {
    const dir = tempFolder();
    const first = await lock(dir, 7, machineOf(7));
    await lock(dir, 8, machineOf(8));
    if (first.kind === 'mine') first.release();
    expect(ownerIn(dir)).toEqual({ pid: 8, start: 't8' });
  });

  it('throws when the folder to lock cannot be created', async () => {
    const file = writeFile(tempFolder(), 'file', '');
    await expect(lock(join(file, 'rig'), 7, machineOf(7))).rejects.toThrow('ENOTDIR');
  });
});
