import { describe, expect, it, onTestFinished } from 'vitest';
import { type WorkerInvocation, workerCommand } from '../../../../agent/cli/command.ts';
import { tempFolder, writeFile } from '../builders.ts';
import { refused, startOrchestrator, type ScriptedOrchestrator } from '../scripted-orchestrator.ts';

interface RunResult {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs the program with these arguments until it exits. */
async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<RunResult> {
  const home = tempFolder();
  let [code, out, err]: [number | null, string, string] = [null, '', ''];
  const invocation: WorkerInvocation = {
    env: { XDG_CONFIG_HOME: home, XDG_STATE_HOME: home, PATH: home, ...env },
    ownCommand: [],
    version: '1.2.3',
    out: text => (out += text),
    err: text => (err += text),
    exit: value => (code = value),
    onSignal: () => {},
  };
  await workerCommand(invocation).parseAsync(args, { from: 'user' });
  return { code, out, err };
}

/** Starts an orchestrator that refuses each registration, so that the worker exits after its first registration. */
async function startRefusingOrchestrator(): Promise<ScriptedOrchestrator> {
  const orchestrator = await startOrchestrator();
  orchestrator.answers.register = () => refused(401);
  return orchestrator;
}

describe('worker options', () => {
  it('registers with the options from the arguments', async () => {
    const { url, nth } = await startRefusingOrchestrator();
    const args = ['--name', 'rig-3', '--persistent', '--label', 'team=nlp', '--label', 'rack=4', '-v'];
    const { code } = await run(['--orchestrator-url', url, '--worker-token', 'wt_1', ...args]);
    expect(code).toBe(3);
    expect(await nth('register')).toMatchObject({
      token: 'wt_1',
      body: { name: 'rig-3', persistent: true, labels: { team: 'nlp', rack: '4' }, agent_version: '1.2.3' },
    });
  });

  it('reads missing options from the environment', async () => {
    const { url, nth } = await startRefusingOrchestrator();
    await run([], {
      SIMPLETUNER_ORCHESTRATOR_URL: url,
      SIMPLETUNER_WORKER_TOKEN: 'wt_2',
      SIMPLETUNER_WORKER_NAME: 'by-env',
      SIMPLETUNER_WORKER_PERSISTENT: 'true',
    });
    expect(await nth('register')).toMatchObject({
      token: 'wt_2',
      body: { name: 'by-env', persistent: true },
    });
  });

  it('reads missing options from a config file', async () => {
    const { url, nth } = await startRefusingOrchestrator();
    const settings = {
      'orchestrator-url': url,
      'worker-token': 'wt_3',
      persistent: true,
      'ssl-no-verify': false,
    };
    await run(['--config', writeFile(tempFolder(), 'c.json', JSON.stringify(settings))]);
    expect(await nth('register')).toMatchObject({ token: 'wt_3', body: { persistent: true } });
  });

  it('exits with 2 and a reason for invalid options', async () => {
    expect(await run(['--orchestrator-url', 'rig'])).toEqual({
      code: 2,
      out: '',
      err: expect.stringMatching(/^"rig" is not an http or https URL\. .*\n$/),
    });
  });

  it('accepts --ssl-no-verify and --no-selftest as switches', async () => {
    onTestFinished(() => void delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']);
    const { url } = await startRefusingOrchestrator();
    const { err } = await run([
      '--orchestrator-url',
      url,
      '--worker-token',
      'wt_1',
      '--ssl-no-verify',
      '--no-selftest',
    ]);
    expect(err).toContain('TLS certificates are not checked (--ssl-no-verify)');
  });
});

describe('token in the arguments', () => {
  it('accepts a token in the arguments, and warns once', async () => {
    const { url } = await startRefusingOrchestrator();
    const { err } = await run(['--orchestrator-url', url, '--worker-token', 'wt_canary']);
    expect(
      err.match(/every user of this machine can see a token in the arguments\. Use --worker-token-file/g),
    ).toHaveLength(1);
    expect(err).not.toContain('canary');
  });

  it('does not warn about a token in a file or in the environment', async () => {
    const { url } = await startRefusingOrchestrator();
    const file = writeFile(tempFolder(), 'token', 'wt_canary');
    const { err } = await run(['--orchestrator-url', url, '--worker-token-file', file]);
    expect(err).not.toContain('can see a token');
    expect((await run(['--orchestrator-url', url], { SIMPLETUNER_WORKER_TOKEN: 'wt_1' })).err).not.toContain(
      'can see a token',
    );
  });
});

it('runs the self-test without any worker settings', async () => {
  const config = writeFile(tempFolder(), 'config.json', '{"seconds":0.1}');
  const { code, out, err } = await run(['selftest', '--config', config]);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toMatch(/^\{"type":"progress","step":1,"total_steps":1,.*\}\nself-test done: .*\n$/);
});
