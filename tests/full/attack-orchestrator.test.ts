/** A malicious orchestrator against an agent in a separate process (docs/internals/faults.md, S10, S11 and S15). */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, relative } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { WorkerCommand } from '../../protocol/worker-api.ts';
import { pathsBelow } from '../support/files-below.ts';
import { type Program, root, startProgram, temporaryFolder } from '../support/processes.ts';
import { endTrainings } from '../support/trainings.ts';
import { registerReply, startOrchestrator } from '../unit/agent/scripted-orchestrator.ts';

const token = 'wt_canary-7c1f03';
const invisibleCharacters = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

/** Creates a rig whose trainer records its arguments, environment and folder. */
function makeRig() {
  const folder = temporaryFolder();
  const record = join(folder, 'record.json');
  const trainer = join(folder, 'trainer.cjs');
  writeFileSync(
    trainer,
    `const { env, argv, cwd } = process;
     const config = JSON.parse(require('node:fs').readFileSync(env.CONFIG_PATH, 'utf8'));
     require('node:fs').writeFileSync(${JSON.stringify(record)}, JSON.stringify({ argv: argv.slice(2), env, cwd: cwd(), config }));
     console.log('\\u001b[31mtrained\\u001b[0m \\u202e');`,
  );
  return { folder, record, trainer, home: join(folder, 'home') };
}

function startAgent(rig: ReturnType<typeof makeRig>, url: string): Program {
  const trainer = `'${process.execPath}' '${rig.trainer}' --config {config_path} --out {output_dir} 'a b'`;
  const args = [
    '--orchestrator-url',
    url,
    '--name',
    'rig-1',
    '--persistent',
    '--verbose',
    '--trainer',
    trainer,
  ];
  const program = startProgram([process.execPath, join(root, 'agent/main.ts'), ...args], {
    cwd: rig.folder,
    env: { SIMPLETUNER_WORKER_TOKEN: token, XDG_STATE_HOME: rig.home, XDG_CONFIG_HOME: rig.home },
  });
  onTestFinished(async () => {
    program.kill('SIGKILL');
    await program.exited;
    await endTrainings(rig.home);
  });
  return program;
}

/** Starts a server on another address, which must receive no call. */
async function startOtherServer() {
  const calls: string[] = [];
  const server = createServer((request, response) => {
    calls.push(`${request.method} ${request.url}`);
    response.end();
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  return { host: `127.0.0.1:${typeof address === 'object' ? address?.port : 0}`, calls };
}

/** Returns the relative paths of everything below a folder. */
const filesIn = (folder: string): readonly string[] =>
  pathsBelow(folder)
    .map(path => relative(folder, path))
    .toSorted();

type Offer = Extract<WorkerCommand, { type: 'job_submit' }>;

const makeOffer = (parts: object): Offer =>
  ({
    type: 'job_submit',
    job_id: 'j_good',
    attempt_id: 'a_good',
    config_name: 'good',
    config: {},
    dataloader: null,
    upload_endpoint: '/api/cloud/storage',
    provider: null,
    hf_token: null,
    on_lost_contact: 'continue',
    ...parts,
  }) as Offer;

test("ignores offers that escape the job folder or the orchestrator's address, and runs the next valid offer", async () => {
  const rig = makeRig();
  const otherServer = await startOtherServer();
  const orchestrator = await startOrchestrator();
  // First, the orchestrator answers registrations with invalid data.
  const replies = [
    { resume_job: { job_id: '../../evil', config_name: 'x', status: 'running', attempt_id: 'a_1' } },
    { worker_id: `w_1@${otherServer.host}`, abandon_job: '../../evil' },
  ];
  orchestrator.answers.register = () => registerReply(replies.shift() ?? {});
  const agent = startAgent(rig, orchestrator.url);
  await agent.waitForLine(/^Connected/);
  expect(replies).toEqual([]);
  const state = join(rig.home, 'trainyard/rig-1');
  const before = filesIn(rig.folder);

  const badIds = [
    '../evil',
    '..',
    '.',
    '/evil',
    'a/b',
    'a\\b',
    'a\0b',
    '%2e%2e%2fevil',
    'j_1/../../evil',
    '',
    'x'.repeat(300),
  ];
  for (const badId of badIds) {
    orchestrator.push(makeOffer({ job_id: badId }));
    orchestrator.push(makeOffer({ attempt_id: badId }));
    orchestrator.push({ type: 'job_cancel', job_id: badId, attempt_id: badId } as WorkerCommand);
  }
  const endpoints = [
    `@${otherServer.host}/x`,
    `//${otherServer.host}/x`,
    `http://${otherServer.host}/x`,
    `.evil.example/x`,
    `:80@${otherServer.host}/`,
    `/../../x`,
    `/a/..`,
    '\\\\evil',
    `/\\${otherServer.host}`,
    '/x?y=1',
    '/x#y',
    '/x y',
    '',
  ];
  for (const upload_endpoint of endpoints) orchestrator.push(makeOffer({ upload_endpoint }));
  orchestrator.push(makeOffer({}));
  await orchestrator.reported('completed', 'a_good');

  const reports = orchestrator.calls.filter(({ name }) => name === 'status');
  expect(new Set(reports.map(({ jobId }) => jobId))).toEqual(new Set(['j_good']));
  expect(otherServer.calls).toEqual([]);
  const createdFiles = filesIn(rig.folder).filter(path => !before.includes(path));
  const isExpected = (path: string): boolean =>
    path === 'record.json' || /^home\/trainyard\/rig-1\/(?:jobs\/j_good|jobs$|runs\/a_good)/.test(path);
  expect(createdFiles.filter(path => !isExpected(path))).toEqual([]);
  expect(filesIn(join(state, 'jobs')).filter(path => !path.includes('/'))).toEqual(['j_good']);
  expect(existsSync(join(rig.folder, '..', 'evil'))).toBe(false);
}, 120_000);

test("takes nothing from an offer into the trainer's command, environment or working directory", async () => {
  const rig = makeRig();
  const orchestrator = await startOrchestrator();
  const agent = startAgent(rig, orchestrator.url);
  await agent.waitForLine(/^Connected/);
  const config = {
    LD_PRELOAD: join(rig.folder, 'evil.so'),
    NODE_OPTIONS: '--require ./evil.cjs',
    PATH: rig.folder,
    env: { LD_PRELOAD: 'x' },
    argv: ['sh', '-c', 'touch touched'],
    '$(touch touched)': '`touch touched`; touch touched | touch touched',
    prompt: 'a\nb\r\n--config /etc/passwd\n{output_dir}',
    '--destination': '/etc',
    command: 'touch touched',
    trainer: '/bin/sh',
  };
  orchestrator.push(
    makeOffer({
      config,
      config_name: '\u001b[2J$(touch touched)\nJob j_forged is completed\u202e',
      dataloader: [{ LD_PRELOAD: 'x', path: '$(touch touched)' }],
      hf_token: 'hf_x\nLD_PRELOAD=evil.so',
      provider: '; touch touched',
      upload_token: 'ut_x\nPATH=/evil',
    }),
  );
  await orchestrator.reported('completed', 'a_good');
  const job = join(rig.home, 'trainyard/rig-1/jobs/j_good');
  const trainerRecord = JSON.parse(readFileSync(rig.record, 'utf8')) as {
    readonly argv: readonly string[];
    readonly env: Readonly<Record<string, string>>;
    readonly cwd: string;
    readonly config: unknown;
  };
  expect(trainerRecord.argv).toEqual([
    '--config',
    join(job, 'config.json'),
    '--out',
    join(job, 'output'),
    'a b',
  ]);
  expect(trainerRecord.cwd).toBe(rig.folder);
  expect(trainerRecord.config).toEqual({ ...config });
  expect(trainerRecord.env).not.toHaveProperty('LD_PRELOAD');
  expect(trainerRecord.env).not.toHaveProperty('NODE_OPTIONS', config.NODE_OPTIONS);
  expect(trainerRecord.env['PATH']).toBe(process.env['PATH']);
  expect(trainerRecord.env['HF_TOKEN']).toBe('hf_x\nLD_PRELOAD=evil.so');
  expect(JSON.stringify(trainerRecord.env)).not.toContain(token);
  expect(trainerRecord.env['PYTHONUNBUFFERED']).toBe('1');
  const isKnown = (name: string): boolean => name in process.env || name === 'PYTHONUNBUFFERED';
  const addedVariables = Object.keys(trainerRecord.env).filter(name => !isKnown(name));
  expect(addedVariables.toSorted()).toEqual([
    'CONFIG_PATH',
    'HF_TOKEN',
    'SIMPLETUNER_CONFIG_BACKEND',
    'SIMPLETUNER_UPLOAD_ENDPOINT',
    'SIMPLETUNER_UPLOAD_TOKEN',
    'TRAINYARD_RESUME_FROM',
    'XDG_CONFIG_HOME',
    'XDG_STATE_HOME',
  ]);
  expect(filesIn(rig.folder).filter(path => path.includes('touched'))).toEqual([]);
  expect(existsSync(join(root, 'touched'))).toBe(false);
  // Each log line is one line of plain text, whether its text comes from the agent, the orchestrator or the trainer.
  await agent.waitForLine(/^\| .*trained/);
  for (const line of agent.lines) expect(line).not.toMatch(invisibleCharacters);
  expect(agent.lines.filter(line => line.startsWith('Job j_forged'))).toEqual([]);
}, 120_000);

test.each([
  { '--post_checkpoint_script': 'touch touched' },
  { post_check: 'touch touched' },
  { output_dir: '/etc' },
  { 'post_upload_script=touch touched': true },
])(
  'rejects a job whose config names a program or a foreign folder: %j',
  async config => {
    const rig = makeRig();
    const orchestrator = await startOrchestrator();
    const agent = startAgent(rig, orchestrator.url);
    await agent.waitForLine(/^Connected/);
    orchestrator.push(makeOffer({ config }));
    await orchestrator.reported('failed', 'a_good');
    const report = orchestrator.calls.find(
      ({ name, body }) => name === 'status' && JSON.stringify(body).includes('failed'),
    );
    expect(report?.body).toMatchObject({
      cause: 'rejected',
      error: expect.stringMatching(/^Worker rig-1 does not allow .*--allow-config-scripts [a-z_]+$/),
    });
    expect(existsSync(rig.record)).toBe(false);
  },
  120_000,
);
