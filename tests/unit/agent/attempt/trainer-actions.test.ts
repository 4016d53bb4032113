import { execFileSync, spawn } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { createAsk } from '../../../../agent/attempt/trainer-actions.ts';
import { readTrainer, writeStop, writeTrainer } from '../../../../agent/guard/guard-files.ts';
import { createRunCommand } from '../../../../agent/process/run-command.ts';
import type { Processes } from '../../../../agent/process/processes.ts';
import type { TrainerChoice } from '../../../../agent/trainers/index.ts';
import { readFields } from '../../../../agent/files/whole-file.ts';
import { startAgentWithJob } from '../agent-fixture.ts';
import { attemptId, jobId, scriptJob, tempFolder } from '../builders.ts';
import { startGuardInProcess, processes } from '../guard-fixture.ts';
import { isAlive, until } from '../guard-rig.ts';

const origin = { jobId: jobId('j1'), attemptId: attemptId('a1') };
/** A trainer that runs until it is stopped. */
const stay = `console.log('ready'); setInterval(() => {}, 1000);`;
/** A trainer that handles SIGUSR2. Its child does not, so the signal would kill the child. */
const handlesSignal = `
  const { spawn } = require('node:child_process');
  spawn('sleep', ['1000'], { stdio: 'ignore' });
  process.on('SIGUSR2', () => console.log('signalled'));
  ${stay}`;
const allRequests = { save: { signal: 'SIGUSR2' }, sample: { file: 'ask/sample.now' } };

/** Starts a trainer under its guard. `ask` requests an action of the trainer, as the agent does. */
async function openTrainer(
  script = stay,
  requests: unknown = allRequests,
  processOverrides: Partial<Processes> = {},
  rig: { readonly trainer?: string; readonly trainers?: readonly TrainerChoice[] } = {},
) {
  const job = scriptJob(tempFolder(), script);
  const outputDir = join(job.folder, 'output');
  mkdirSync(outputDir);
  writeFileSync(
    join(job.folder, 'requests.json'),
    JSON.stringify({ $requests: requests, trainer: rig.trainer ?? null }),
  );
  const lines: string[] = [];
  const guard = startGuardInProcess(job);
  const run = guard.attend({ onLine: line => void lines.push(line) });
  const trainer = await until(() => readTrainer(guard.run));
  const waitForLine = (line: string): Promise<true> => until(() => (lines.includes(line) ? true : null));
  await waitForLine('ready');
  const logLines: string[] = [];
  const ask = createAsk({
    runOf: () => guard.run,
    processes: { ...processes, ...processOverrides },
    trainers: rig.trainers ?? [],
    run: createRunCommand({ environment: process.env }),
    log: message => void logLines.push(message),
  });
  return {
    folder: job.folder,
    outputDir,
    run: guard.run,
    trainer,
    waitForLine,
    end: async () => {
      writeStop(guard.run, { order: 'cancel', graceMs: 100 });
      await run.finished;
    },
    /** Requests an action. Returns the log lines of this request. */
    ask: async (what: string) => {
      await ask(origin, what);
      return logLines.splice(0).join('\n');
    },
  };
}

describe('actions by signal', () => {
  it('signals only the trainer, and no other process of its group', async () => {
    const { ask, waitForLine, trainer, end } = await openTrainer(handlesSignal);
    expect(await ask('save')).toBe('Asked the trainer of job j1 to save (SIGUSR2)');
    await waitForLine('signalled');
    expect(await isAlive(trainer)).toBe(true);
    await end();
  });

  it.runIf(process.platform === 'linux')(
    'does not send a signal that the trainer does not handle',
    async () => {
      const { ask, trainer, end } = await openTrainer(stay);
      expect(await ask('save')).toBe(
        'Did not ask the trainer of job j1 to save: it does not listen to SIGUSR2 now, and would be ended by it',
      );
      expect(await isAlive(trainer)).toBe(true);
      await end();
    },
  );

  it("sends no signal to a later process with the trainer's pid", async () => {
    const { ask, run, trainer, end } = await openTrainer(handlesSignal);
    writeTrainer(run, { ...trainer, start: `${trainer.start}0` });
    expect(await ask('save')).toBe('Did not ask the trainer of job j1 to save: it has ended');
    writeTrainer(run, trainer);
    await end();
  });

  it('explains what to do on a system without signals', async () => {
    const { ask, end } = await openTrainer(handlesSignal, allRequests, { signal: async () => 'unable' });
    expect(await ask('save')).toBe(
      "Can't ask the trainer of job j1 to save: this machine knows no signals. Let $requests in its config name a file",
    );
    await end();
  });

  it('reports the error when the process tools fail', async () => {
    const { ask, end } = await openTrainer(handlesSignal, allRequests, {
      signal: () => Promise.reject(new Error('ps could not be asked')),
    });
    expect(await ask('save')).toBe("Can't ask the trainer of job j1 to save: ps could not be asked");
    await end();
  });
});

describe('actions by file', () => {
  it('creates an empty request file, and reports that the file still exists on a second request', async () => {
    const { ask, outputDir, end } = await openTrainer();
    expect(await ask('sample')).toBe(
      'Asked the trainer of job j1 for samples (ask/sample.now in its output folder)',
    );
    const { size, mode } = lstatSync(join(outputDir, 'ask/sample.now'));
    expect([size, mode & 0o777]).toEqual([0, 0o600]);
    expect(await ask('sample')).toBe(
      'Asked the trainer of job j1 for samples before, and it is not done: ask/sample.now is still in its output folder',
    );
    await end();
  });

  it('follows no symbolic links in the path of a request file', async () => {
    const { ask, outputDir, end } = await openTrainer();
    const elsewhere = tempFolder();
    symlinkSync(elsewhere, join(outputDir, 'ask'));
    expect(await ask('sample')).toBe(
      `Can't ask the trainer of job j1 for samples: ${join(outputDir, 'ask')} is no folder`,
    );
    expect(readdirSync(elsewhere)).toEqual([]);
    await end();
    const second = await openTrainer(stay, { sample: { file: 'sample.now' } });
    symlinkSync(join(elsewhere, 'target'), join(second.outputDir, 'sample.now'));
    await second.ask('sample');
    expect(existsSync(join(elsewhere, 'target'))).toBe(false);
    await second.end();
  });

  it('creates no request file for a trainer that has ended', async () => {
    const { ask, outputDir, end } = await openTrainer();
    await end();
    expect(await ask('sample')).toBe('Did not ask the trainer of job j1 for samples: it has ended');
    expect(readdirSync(outputDir)).toEqual([]);
  });
});

describe('actions for SimpleTuner', () => {
  const simpletunerRig = {
    trainer: 'simpletuner',
    trainers: [{ kind: 'package', name: 'simpletuner', python: null }],
  } as const;
  const open = () => openTrainer(stay, {}, {}, simpletunerRig);
  const fileIn = (folder: string): string => join(folder, 'simpletuner-requests.json');

  it('counts requests in the file that SimpleTuner reads', async () => {
    const { ask, folder, end } = await open();
    writeFileSync(fileIn(folder), '{}');
    expect(await ask('save')).toBe('Asked the trainer of job j1 to save (manual_checkpoint)');
    expect(await ask('sample')).toBe('Asked the trainer of job j1 for samples (manual_validation)');
    await ask('save');
    expect(readFields(fileIn(folder))).toEqual({ manual_checkpoint: 2, manual_validation: 1 });
    await end();
    expect(await ask('save')).toBe('Did not ask the trainer of job j1 to save: it has ended');
  });

  it('uses $requests in the config of a SimpleTuner job instead of the default requests file', async () => {
    const { ask, outputDir, end } = await openTrainer(
      stay,
      { save: { file: 'save.now' } },
      {},
      simpletunerRig,
    );
    await ask('save');
    expect(readdirSync(outputDir)).toEqual(['save.now']);
    await end();
  });

  it('reports that SimpleTuner has no request file because an older worker started it', async () => {
    const { ask, end } = await open();
    expect(await ask('save')).toBe(
      "Can't ask the trainer of job j1 to save: an older version of this worker started it",
    );
    await end();
  });

  it('reports that an action is impossible when the worker no longer has SimpleTuner', async () => {
    const { ask, end } = await openTrainer(stay, {}, {}, { trainer: 'simpletuner' });
    expect(await ask('save')).toContain('its config has no "save" in $requests');
    await end();
  });
});

describe.runIf(process.platform !== 'win32')('actions for OneTrainer', () => {
  /** Creates a checkout with a copy of OneTrainer's class for commands. Each method records its name. */
  function openCheckout() {
    const folder = tempFolder();
    const commands = join(folder, 'modules/util/commands');
    mkdirSync(commands, { recursive: true });
    const code = `class TrainCommands:
    def __init__(self): self.called = []
    def backup(self): self.called.append('backup')
    def sample_default(self): self.called.append('sample_default')
`;
    writeFileSync(join(commands, 'TrainCommands.py'), code);
    return folder;
  }
  const openWith = (folder: string) =>
    openTrainer(
      stay,
      {},
      {},
      {
        trainer: 'onetrainer',
        trainers: [{ kind: 'checkout', name: 'onetrainer', folder, python: null }],
      },
    );
  const pipeIn = (folder: string): string => join(folder, 'onetrainer-commands');
  /** A Python program that reads two commands. It reopens the pipe after each command, as OneTrainer does. */
  const pipeReader = `
import pickle, sys
sys.path.insert(0, sys.argv[1])
received = 0
while received < 2:
    with open(sys.argv[2], 'rb') as pipe:
        try:
            print(pickle.load(pipe).called[0], flush=True)
            received += 1
        except EOFError:
            pass
`;

  it("sends requests through OneTrainer's pipe, with the command class of its checkout", async () => {
    const checkout = openCheckout();
    const { ask, folder, end } = await openWith(checkout);
    execFileSync('mkfifo', [pipeIn(folder)]);
    const reader = spawn('python3', ['-c', pipeReader, checkout, pipeIn(folder)]);
    const commands = createInterface(reader.stdout)[Symbol.asyncIterator]();
    // The reader must open the pipe before a request, as the trainer does.
    const askListening = (what: string) =>
      until(async () => {
        const logged = await ask(what);
        return logged.includes('does not listen') ? null : logged;
      });
    expect(await askListening('save')).toBe('Asked the trainer of job j1 to save (backup)');
    expect((await commands.next()).value).toBe('backup');
    expect(await askListening('sample')).toBe('Asked the trainer of job j1 for samples (sample_default)');
    expect((await commands.next()).value).toBe('sample_default');
    await end();
  });

  it('does not wait for a OneTrainer process that does not read its pipe', async () => {
    const { ask, folder, end } = await openWith(openCheckout());
    execFileSync('mkfifo', [pipeIn(folder)]);
    expect(await ask('save')).toBe(
      "Can't ask the trainer of job j1 to save: it does not listen at the moment",
    );
    await end();
  });

  it.each([
    ['OneTrainer has no pipe', openCheckout, false, 'it was started without a pipe for requests'],
    ['the code of OneTrainer is gone', tempFolder, true, "ModuleNotFoundError: No module named 'modules'"],
  ])(
    'reports that an action of OneTrainer is impossible when %s',
    async (_title, createCheckout, hasPipe, reason) => {
      const { ask, folder, end } = await openWith(createCheckout());
      if (hasPipe) execFileSync('mkfifo', [pipeIn(folder)]);
      expect(await ask('save')).toBe(`Can't ask the trainer of job j1 to save: ${reason}`);
      await end();
    },
  );
});

describe('impossible actions', () => {
  it.each<[string, unknown, string]>([
    [
      'the config has no entry for the action',
      { save: allRequests.save },
      'its config has no "sample" in $requests',
    ],
    [
      'the path of the action leads outside the output folder',
      { sample: { file: '../x' } },
      '$requests.sample.file in the config',
    ],
    ['$requests is invalid', 'sample', '$requests in the config cannot be read'],
  ])('reports that an action is impossible when %s', async (_title, requests, expected) => {
    const { ask, outputDir, end } = await openTrainer(stay, requests);
    expect(await ask('sample')).toContain(expected);
    expect(readdirSync(outputDir)).toEqual([]);
    await end();
  });

  it('reports an unknown action from a newer orchestrator', async () => {
    const { ask, end } = await openTrainer();
    expect(await ask('pause')).toBe('Job j1: this worker knows no "pause" to ask for. Update it');
    await end();
  });

  it('reports that the trainer does not run when the run folder of the attempt is empty', async () => {
    const logLines: string[] = [];
    const run = createRunCommand({ environment: {} });
    const folder = tempFolder();
    const ask = createAsk({
      runOf: () => ({ path: folder }),
      processes,
      trainers: [],
      run,
      log: line => void logLines.push(line),
    });
    await ask(origin, 'save');
    expect(logLines).toEqual(['Did not ask the trainer of job j1 to save: it does not run']);
  });
});

describe('actions that the orchestrator requests', () => {
  it('forwards a requested action only to the running attempt', async () => {
    const requests: string[] = [];
    const ask = async ({ jobId: job, attemptId: attempt }: typeof origin, what: string) => {
      requests.push(`${job} ${attempt} ${what}`);
      return 'asked' as const;
    };
    const { orchestrator, run, exit, agent } = await startAgentWithJob({ ask });
    const push = (attempt: string, what: string): void =>
      orchestrator.push({ type: 'job_ask', job_id: jobId('j1'), attempt_id: attemptId(attempt), what });
    push('a0', 'save');
    push('a1', 'save');
    push('a1', 'dance');
    await until(() => (requests.length > 1 ? true : null));
    expect(requests).toEqual(['j1 a1 save', 'j1 a1 dance']);
    agent.leave();
    run.end(0);
    await orchestrator.reported('completed');
    push('a1', 'save');
    expect(await exit).toBe(0);
    expect(requests).toHaveLength(2);
  });
});
