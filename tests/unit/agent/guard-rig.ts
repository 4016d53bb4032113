import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { readGuard, readTrainer, type RunFolder } from '../../../agent/guard/guard-files.ts';
import { isRunning, type ProcessRef } from '../../../agent/process/processes.ts';
import { type Program, startProgram } from '../../support/processes.ts';
import { endTraining } from '../../support/trainings.ts';
import { offerOf, tempFolder, writeFile } from './builders.ts';
import { launchDeps, processes } from './guard-fixture.ts';
import {
  heartbeatReply,
  registerReply,
  type ScriptedOrchestrator,
  startOrchestrator,
} from './scripted-orchestrator.ts';

/** The heartbeat timeout and the grace period that the orchestrator announces, in ms. */
export interface RigTimes {
  readonly timeoutMs: number;
  readonly graceMs: number;
}

/** A machine with real processes of the worker, and a scripted orchestrator. */
export interface Rig {
  readonly orchestrator: ScriptedOrchestrator;
  readonly folder: string;
  readonly stateDir: string;
  /** Starts the worker's program, which is killed after the test. */
  startAgent(args?: readonly string[], env?: Readonly<Record<string, string>>): Program;
  /** Starts the worker and offers it a job. Resolves when the trainer has written the file `ready`. */
  startAgentWithJob(offer?: Parameters<typeof offerOf>[2], args?: readonly string[]): Promise<Program>;
  /** The run folder of the offered attempt. */
  readonly run: RunFolder;
  /** Resolves with the guard when the guard has recorded itself in the run folder. */
  guard(): Promise<ProcessRef>;
  /** Resolves with the trainer when the guard has recorded the trainer in the run folder. */
  trainer(): Promise<ProcessRef>;
  /** Resolves with the text that the trainer has written under this name next to its script. */
  note(name: string): Promise<string>;
}

const defaults: RigTimes = { timeoutMs: 120_000, graceMs: 20_000 };

/** Polls until `read` returns a value other than null, and resolves with this value. */
export const until = <T>(read: () => T | null | Promise<T | null>, timeout = 15_000): Promise<T> =>
  vi.waitFor(
    async () => {
      const value = await read();
      if (value === null) throw new Error('the awaited value is still null');
      return value;
    },
    { interval: 20, timeout },
  );

export const isAlive = (ref: ProcessRef): Promise<boolean> => isRunning(processes, ref);

/** Waits until all processes of the group have ended. Resolves with the duration in ms. */
export async function untilGone({ pid }: ProcessRef, timeout = 15_000): Promise<number> {
  const startedAt = performance.now();
  await until(async () => ((await processes.groupLives(pid)) ? null : true), timeout);
  return performance.now() - startedAt;
}

/**
 * Start of each trainer's script, which defines these functions:
 * - `note` appends a line to a file next to the script.
 * - `step` prints progress.
 * - `fileExists` returns whether the test has created this file next to the script.
 * - `ignoreSigterm` makes the trainer survive SIGTERM. It notes each SIGTERM in the file `sigterm`.
 * - `startDescendants` starts a child and a grandchild that ignore SIGTERM. It calls `onReady` when both run.
 */
const prelude = `
  const { appendFileSync, readFileSync, existsSync } = require('node:fs');
  const { spawn } = require('node:child_process');
  const { join } = require('node:path');
  const note = (name, text) => appendFileSync(join(__dirname, name), text + '\\n');
  const step = (n, rest = {}) => console.log(JSON.stringify({ type: 'progress', step: n, total_steps: 1000, ...rest }));
  const fileExists = name => existsSync(join(__dirname, name));
  const ignoreSigterm = () => { process.on('SIGTERM', () => note('sigterm', 'SIGTERM')); };
  const startDescendants = onReady => {
    const stay = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);";
    const grandchild = stay + "console.log('started')";
    const child = stay + "require('node:child_process').spawn(process.execPath, ['-e', " + JSON.stringify(grandchild) +
      "], { stdio: ['ignore', 'pipe', 'inherit'] }).stdout.once('data', () => console.log('both started'))";
    spawn(process.execPath, ['-e', child], { stdio: ['ignore', 'pipe', 'inherit'] }).stdout.once('data', onReady);
  };
  note('started', String(process.pid));
`;

/** Starts an orchestrator for a worker whose trainer runs this script. The worker itself is not started. */
export async function startRig(script: string, times: Partial<RigTimes> = {}): Promise<Rig> {
  const { timeoutMs, graceMs } = { ...defaults, ...times };
  const orchestrator = await startOrchestrator();
  const interval = { heartbeat_interval_s: Math.min(1, timeoutMs / 4_000) };
  orchestrator.answers.register = () =>
    registerReply({ ...interval, heartbeat_timeout_s: timeoutMs / 1000, stop_grace_s: graceMs / 1000 });
  orchestrator.answers.heartbeat = () => heartbeatReply(interval);
  const folder = tempFolder();
  const trainer = writeFile(folder, 'trainer.cjs', prelude + script);
  const stateDir = join(folder, 'trainyard/rig');
  const run = { path: join(stateDir, 'runs/a1') };
  onTestFinished(() => endTraining(run));

  const startAgent: Rig['startAgent'] = (args = [], env = {}) => {
    const own = ['--orchestrator-url', orchestrator.url, '--name', 'rig'];
    const agent = startProgram(
      [
        ...launchDeps.ownCommand,
        ...own,
        '--trainer',
        `${process.execPath} ${trainer} {config_path}`,
        ...args,
      ],
      {
        cwd: folder,
        env: {
          XDG_STATE_HOME: folder,
          XDG_CONFIG_HOME: folder,
          SIMPLETUNER_WORKER_TOKEN: 'wt_1',
          SIMPLETUNER_WORKER_PERSISTENT: 'true',
          ...env,
        },
      },
    );
    onTestFinished(async () => {
      agent.kill('SIGKILL');
      await agent.exited;
    });
    return agent;
  };
  const note = (name: string): Promise<string> =>
    until(() => (existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8').trim() : null));

  return {
    orchestrator,
    folder,
    stateDir,
    startAgent,
    async startAgentWithJob(offer = {}, args = []) {
      const agent = startAgent(args);
      await agent.waitForLine(/^Connected/);
      orchestrator.push(offerOf('j1', 'a1', offer));
      await orchestrator.reported('running');
      await note('ready');
      return agent;
    },
    run,
    guard: () =>
      until(() => {
        const guard = readGuard(run);
        return guard === 'called_off' ? null : guard;
      }),
    trainer: () => until(() => readTrainer(run)),
    note,
  };
}

/** The steps that the agent has reported to the orchestrator, in order. */
export const reportedSteps = ({ orchestrator }: Rig): readonly number[] =>
  orchestrator.calls.flatMap(({ body }) => {
    const progress = body['progress'];
    return typeof progress === 'object' && progress !== null && 'step' in progress
      ? [Number(progress.step)]
      : [];
  });
