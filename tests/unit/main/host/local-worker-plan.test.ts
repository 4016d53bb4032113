/** How the local worker's agent is started, and when it is restarted. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadAgentConfig } from '../../../../agent/config.ts';
import {
  agentEnvironment,
  agentFile,
  planRestart,
  workerNameOf,
} from '../../../../main/host/local-worker-plan.ts';

const place = {
  url: 'http://127.0.0.1:8001',
  name: 'workstation',
  stateDir: '/data/local-worker',
  allowConfigScripts: null,
};
const nothingSaid = { gpus: null, trainer: null, workDir: null };

/** As the agent itself reads it. */
function understood(settings: Parameters<typeof agentFile>[0], env: Record<string, string> = {}) {
  const file = join(mkdtempSync(join(tmpdir(), 'trainyard-test-')), 'worker.json');
  writeFileSync(file, JSON.stringify(agentFile(settings, place)), { mode: 0o600 });
  const loaded = loadAgentConfig({ config: file }, agentEnvironment(env, 'wt_local'));
  if (!loaded.ok) throw new Error(loaded.message);
  return loaded.value;
}

describe('the agent understands', () => {
  test('that it belongs to this orchestrator alone', () => {
    expect(understood(nothingSaid)).toMatchObject({
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

  test('what the owner of the machine says', () => {
    const said = { gpus: '1, 0', trainer: "node 'my train.ts' {config_path}", workDir: '/big/disk' };
    expect(understood(said)).toMatchObject({
      gpus: [1, 0],
      trainers: [{ kind: 'command', argv: ['node', 'my train.ts', '{config_path}'], takesAll: true }],
      stateDir: '/data/local-worker',
      workDir: '/big/disk',
    });
  });

  test('nothing of what the environment says of another worker', () => {
    const env = {
      SIMPLETUNER_ORCHESTRATOR_URL: 'http://elsewhere:8001',
      SIMPLETUNER_WORKER_NAME: 'rig-9',
      SIMPLETUNER_WORKER_PERSISTENT: 'false',
      SIMPLETUNER_WORKER_TOKEN: 'wt_other',
    };
    expect(understood(nothingSaid, env)).toEqual(understood(nothingSaid));
  });
});

test('the token is in the environment and nowhere else, and the admin token is not', () => {
  const env = { PATH: '/bin', ADMIN_TOKEN: 'ta_secret', CUDA_VISIBLE_DEVICES: '1' };
  expect(agentEnvironment(env, 'wt_local')).toEqual({
    PATH: '/bin',
    CUDA_VISIBLE_DEVICES: '1',
    SIMPLETUNER_WORKER_TOKEN: 'wt_local',
  });
  expect(JSON.stringify(agentFile(nothingSaid, place))).not.toMatch(/token/);
});

describe('after an end', () => {
  const soon = 100;
  const late = 60_000;

  /** The waits after ends in a row that all come at once. */
  const waits = (code: number | null, times: number): readonly number[] => {
    let failures = 0;
    return Array.from({ length: times }, () => {
      const sequel = planRestart({ code, livedMs: soon }, failures);
      failures = sequel.failures;
      return sequel.inMs / 1000;
    });
  };

  test.each([
    ['a signal, or no start at all', null],
    ['as asked', 0],
    ['a state folder that cannot be used', 1],
    ['a token that was refused', 3],
    ['anything else', 134],
  ])('by %s it waits longer each time, but never more than a minute', (_what, code) => {
    expect(waits(code, 9)).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
  });

  test('by wrong options it waits for minutes', () => {
    expect(waits(2, 2)).toEqual([300, 300]);
  });

  test('by a lock that another agent holds it asks again soon, however often', () => {
    expect(waits(73, 6)).toEqual([1, 2, 4, 5, 5, 5]);
  });

  test('of one that had lived well the failures before do not count', () => {
    expect(planRestart({ code: null, livedMs: late }, 9)).toMatchObject({ inMs: 1_000, failures: 0 });
    expect(planRestart({ code: null, livedMs: late - 1 }, 9)).toMatchObject({ inMs: 60_000 });
    expect(planRestart({ code: null, livedMs: soon }, 2 ** 40).inMs).toBe(60_000);
  });

  test.each([
    [3, true],
    [0, false],
    [2, false],
    [73, false],
    [null, false],
  ])('by %s a new token is needed: %s', (code, needsToken) => {
    expect(planRestart({ code, livedMs: soon }, 0)).toMatchObject({ needsToken });
  });
});

test.each([
  ['workstation', 'workstation'],
  [' ws.example\n', 'ws.example'],
  ['', 'this-machine'],
  ['\u0007', 'this-machine'],
  ['x'.repeat(255), 'x'.repeat(80)],
])('a host called %j makes a worker called %j', (host, name) => {
  expect(workerNameOf(host)).toBe(name);
});
