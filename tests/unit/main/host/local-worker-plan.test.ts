import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadAgentConfig } from '../../../../agent/config/index.ts';
import {
  agentEnvironment,
  agentFile,
  planRestart,
  workerNameOf,
} from '../../../../main/host/local-worker-plan.ts';

const location = {
  url: 'http://127.0.0.1:8001',
  name: 'workstation',
  stateDir: '/data/local-worker',
  allowConfigScripts: null,
};
const noSettings = { gpus: null, trainer: null, workDir: null };

// Writes the agent's settings file, and returns the configuration that the agent loads from this file.
function loadAsAgent(settings: Parameters<typeof agentFile>[0], env: Record<string, string> = {}) {
  const file = join(mkdtempSync(join(tmpdir(), 'trainyard-test-')), 'worker.json');
  writeFileSync(file, JSON.stringify(agentFile(settings, location)), { mode: 0o600 });
  const loaded = loadAgentConfig({ config: file }, agentEnvironment(env, 'wt_local'));
  if (!loaded.ok) throw new Error(loaded.message);
  return loaded.value;
}

describe('agentFile and agentEnvironment', () => {
  test('configures the local worker for this orchestrator', () => {
    expect(loadAsAgent(noSettings)).toMatchObject({
      orchestratorUrl: 'http://127.0.0.1:8001',
      token: { kind: 'value', token: 'wt_local' },
      name: 'workstation',
      persistent: true,
      leavesWithParent: true,
      stateDir: '/data/local-worker',
      workDir: '/data/local-worker/jobs',
      gpus: null,
      trainers: [{ kind: 'package', name: 'simpletuner', python: null }],
    });
  });

  test('passes the GPUs, trainer and work folder of the settings to the agent', () => {
    const options = { gpus: '1, 0', trainer: "node 'my train.ts' {config_path}", workDir: '/big/disk' };
    expect(loadAsAgent(options)).toMatchObject({
      gpus: [1, 0],
      trainers: [{ kind: 'command', argv: ['node', 'my train.ts', '{config_path}'], takesAll: true }],
      stateDir: '/data/local-worker',
      workDir: '/big/disk',
    });
  });

  test('ignores environment variables for another worker', () => {
    const env = {
      SIMPLETUNER_ORCHESTRATOR_URL: 'http://elsewhere:8001',
      SIMPLETUNER_WORKER_NAME: 'rig-9',
      SIMPLETUNER_WORKER_PERSISTENT: 'false',
      SIMPLETUNER_WORKER_TOKEN: 'wt_other',
    };
    expect(loadAsAgent(noSettings, env)).toEqual(loadAsAgent(noSettings));
  });
});

test('passes the worker token only in the environment, and never passes the admin token', () => {
  const env = { PATH: '/bin', ADMIN_TOKEN: 'ta_secret', CUDA_VISIBLE_DEVICES: '1' };
  expect(agentEnvironment(env, 'wt_local')).toEqual({
    PATH: '/bin',
    CUDA_VISIBLE_DEVICES: '1',
    SIMPLETUNER_WORKER_TOKEN: 'wt_local',
  });
  expect(JSON.stringify(agentFile(noSettings, location))).not.toMatch(/token/);
});

describe('planRestart', () => {
  const shortRunMs = 100;
  // A run of this length resets the number of failures.
  const longRunMs = 60_000;

  // Returns the delays before restarts in seconds when the agent repeatedly ends soon after its start.
  const delaysS = (code: number | null, times: number): readonly number[] => {
    let failures = 0;
    return Array.from({ length: times }, () => {
      const restart = planRestart({ code, livedMs: shortRunMs }, failures);
      failures = restart.failures;
      return restart.inMs / 1000;
    });
  };

  test.each([
    ['a signal, or a failed start', null],
    ['exit code 0', 0],
    ['an unusable state folder', 1],
    ['a refused token', 3],
    ['another exit code', 134],
  ])('doubles the restart delay up to a minute after %s', (_case, code) => {
    expect(delaysS(code, 9)).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
  });

  test('delays the restart by five minutes after invalid options', () => {
    expect(delaysS(2, 2)).toEqual([300, 300]);
  });

  test('delays the restart by at most 5 s when another agent holds the lock', () => {
    expect(delaysS(73, 6)).toEqual([1, 2, 4, 5, 5, 5]);
  });

  test('resets the number of failures after a run of a minute', () => {
    expect(planRestart({ code: null, livedMs: longRunMs }, 9)).toMatchObject({ inMs: 1_000, failures: 0 });
    expect(planRestart({ code: null, livedMs: longRunMs - 1 }, 9)).toMatchObject({ inMs: 60_000 });
    expect(planRestart({ code: null, livedMs: shortRunMs }, 2 ** 40).inMs).toBe(60_000);
  });

  test.each([
    [3, true],
    [0, false],
    [2, false],
    [73, false],
    [null, false],
  ])('sets needsToken after exit code %s to %s', (code, needsToken) => {
    expect(planRestart({ code, livedMs: shortRunMs }, 0)).toMatchObject({ needsToken });
  });
});

test.each([
  ['workstation', 'workstation'],
  [' ws.example\n', 'ws.example'],
  ['', 'this-machine'],
  ['\u0007', 'this-machine'],
  ['x'.repeat(255), 'x'.repeat(80)],
])('derives the worker name of host %j as %j', (host, name) => {
  expect(workerNameOf(host)).toBe(name);
});
