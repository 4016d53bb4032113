import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { batchScript } from '../../../../../main/engines/slurm/batch-script.ts';

/** A fake worker that prints its token and each notice, and exits with 5 after a notice. */
const worker = `exec bash -c 'trap "echo notice; exit 5" USR1; echo "token $TRAINYARD_JOIN"; echo "started $$"; while :; do sleep 0.1; done'`;

/** Runs a batch script that starts the worker with the command `start`. The script `srun` replaces the real program. */
function runBatch(start: string, srun: string, nodes = 1) {
  const folder = mkdtempSync(join(tmpdir(), 'batch-'));
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin/srun'), `#!/bin/sh\n[ -z "$TRAINYARD_JOIN" ] || echo leak\n${srun}\n`);
  chmodSync(join(folder, 'bin/srun'), 0o755);
  writeFileSync(join(folder, 'script'), batchScript(start, nodes).replace('. /etc/profile', ':'));
  const child = spawn('bash', [join(folder, 'script')], {
    env: {
      PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
      TRAINYARD_JOIN: 'tj_1',
      TMPDIR: folder,
      SLURM_JOB_ID: '20007',
      SLURMD_NODENAME: 'rig1',
    },
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  });
  onTestFinished(() => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
    } catch {
      // The processes of the script have already ended.
    }
  });
  let output = '';
  const outputChecks = new Set<() => void>();
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    for (const check of outputChecks) check();
  });
  return {
    child,
    output: () => output,
    untilPrinted: (text: string) =>
      new Promise<void>(resolve => {
        const check = (): void => {
          if (output.includes(text)) resolve();
        };
        outputChecks.add(check);
        check();
      }),
    exited: new Promise<number | null>(resolve => {
      child.once('exit', resolve);
    }),
  };
}

// The batch script starts a second job step, the canary. Slurm ends the canary before it takes the machine away.
const runningCanary = 'echo up; exec sleep 60';

it.each(['SIGTERM', 'SIGUSR1'] as const)(
  "forwards %s to the worker, and exits with the worker's exit code",
  async signal => {
    const batch = runBatch(worker, runningCanary);
    await batch.untilPrinted('started');
    batch.child.kill(signal);
    expect(await batch.exited).toBe(5);
    expect(batch.output()).toMatch(/^token tj_1\nstarted \d+\nnotice\n$/);
  },
);

it('sends the worker a notice when the canary job step ends', async () => {
  const batch = runBatch(worker, 'echo up; exec sleep 0.5');
  expect(await batch.exited).toBe(5);
  expect(batch.output()).toMatch(/notice/);
});

it('sends the worker no notice when the canary job step cannot start', async () => {
  const batch = runBatch('echo started; sleep 1; exit 4', 'echo "unrecognized option --overlap" >&2; exit 1');
  expect(await batch.exited).toBe(4);
});

it('ends the shell when a notice arrives before the worker starts', async () => {
  // While setup lines run, the worker does not exist yet, so only the shell can receive the notice.
  const batch = runBatch('echo setup; sleep 20; exit 0', runningCanary);
  await batch.untilPrinted('setup');
  batch.child.kill('SIGUSR1');
  // 128 + 10: SIGUSR1 ended the shell.
  expect(await batch.exited).toBe(138);
});

it('exports the number of nodes, the rank and the master address to a launch on several nodes', async () => {
  const start = 'echo "$TRAINYARD_NODES $TRAINYARD_NODE_RANK $MASTER_ADDR $MASTER_PORT"; exit 0';
  const batch = runBatch(start, runningCanary, 3);
  await batch.exited;
  expect(batch.output()).toBe('3 0 rig1 20007\n');
});
