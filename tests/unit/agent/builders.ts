import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type AgentConfig, type Flags, loadAgentConfig } from '../../../agent/config/index.ts';
import type { Rig } from '../../../agent/attempt/trainer.ts';
import type { JobOffer, PreparedJob } from '../../../agent/job.ts';
import type { CallFailure } from '../../../protocol/client.ts';
import { AttemptId, JobId } from '../../../protocol/ids.ts';

/** Creates a folder that is removed after the test. Returns its path. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'agent-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes a file with this mode. Returns its path. */
export function writeFile(folder: string, name: string, text: string, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

export const jobId = (id: string): JobId => JobId.parse(id);
export const attemptId = (id: string): AttemptId => AttemptId.parse(id);

/** Returns the offer of a job that needs no files, data or GPUs. */
export const offerOf = (id: string, attempt: string, overrides: Partial<JobOffer> = {}): JobOffer => ({
  type: 'job_submit',
  job_id: jobId(id),
  attempt_id: attemptId(attempt),
  config_name: 'sample',
  config: {},
  dataloader: null,
  files: {},
  data: [],
  gpus: null,
  upload_endpoint: '/api/cloud/storage',
  provider: null,
  hf_token: null,
  on_lost_contact: 'continue',
  resume: null,
  ...overrides,
});

export const rigOf = (workDir: string, overrides: Partial<Rig> = {}): Rig => ({
  name: 'rig-1',
  orchestratorUrl: 'http://orchestrator.test:8001',
  workDir,
  cwd: process.cwd(),
  trainers: [{ kind: 'command', argv: [process.execPath, '{config_path}'], takesAll: true }],
  selftest: true,
  allowedConfigKeys: [],
  sample: null,
  ownCommand: ['/opt/trainyard-worker'],
  nodes: null,
  gpuEnv: () => ({}),
  env: { PATH: process.env['PATH'] },
  ...overrides,
});

/** The address that this machine reports in tests of jobs on several workers. */
export const reachable = async () => ({ address: '192.0.2.1', port: 29_500 });

/** A job that runs a Node script. */
export const scriptJob = (folder: string, script: string, ...args: readonly string[]): PreparedJob => ({
  argv: [process.execPath, '-e', script, ...args],
  folder,
  cwd: folder,
  env: { PATH: process.env['PATH'] },
  outputDir: folder,
  samplesAreFiles: false,
  dataTargets: [],
  logFile: join(folder, 'trainer.log'),
});

/** The flags that every worker needs. */
export const minimalFlags: Flags = {
  'orchestrator-url': 'http://orchestrator.test:8001',
  'worker-token': 'wt_secret',
};

/** Loads the settings from these sources only, without the machine's own config file. */
export function loadConfig(
  flags: Flags,
  env: Readonly<Record<string, string | undefined>> = {},
): ReturnType<typeof loadAgentConfig> {
  return loadAgentConfig(flags, { XDG_CONFIG_HOME: tempFolder(), ...env });
}

export function loadValidConfig(
  flags: Flags,
  env: Readonly<Record<string, string | undefined>> = {},
): AgentConfig {
  const config = loadConfig(flags, env);
  if (!config.ok) throw new Error(config.message);
  return config.value;
}

/** Returns the error message for invalid settings; throws for valid settings. */
export function configError(flags: Flags, env: Readonly<Record<string, string | undefined>> = {}): string {
  const config = loadConfig(flags, env);
  if (config.ok) throw new Error('the settings were accepted');
  return config.message;
}

/** Returns the failure of a call that the orchestrator refuses with this status. */
export const problemOf = (status: number, action?: 'stop'): CallFailure => ({
  kind: 'problem',
  status,
  problem: {
    type: 'about:blank',
    title: 'Refused',
    status,
    detail: `refused with ${status}`,
    code: 'internal',
    ...(action && { action }),
  },
});

/** Returns the failure of a call that does not reach the orchestrator. */
export const unreachable = (code = 'ECONNREFUSED'): CallFailure => ({
  kind: 'unreachable',
  cause: new TypeError('fetch failed', { cause: Object.assign(new Error(`connect ${code}`), { code }) }),
});

/**
 * Returns a function that returns these answers in order, and then repeats the last answer. `calls` records the
 * arguments of each call.
 */
export function scriptAnswers<A extends readonly unknown[], R>(
  answers: readonly R[],
): { readonly calls: readonly A[]; readonly answer: (...args: A) => Promise<R> } {
  const calls: A[] = [];
  return {
    calls,
    answer: async (...args) => {
      calls.push(args);
      const answer = answers[calls.length - 1] ?? answers.at(-1);
      if (answer === undefined) throw new Error('no call was expected');
      return answer;
    },
  };
}

/** Returns the URL of a port on which nothing listens. */
export async function closedPortUrl(): Promise<string> {
  const server = createServer();
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise(resolve => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return `http://127.0.0.1:${address.port}`;
}
