/** A user updates real workers from the panel while one of the workers runs a job. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, test } from '@playwright/test';
import { createBuilder } from 'vite';
import { version } from '../../protocol/version.ts';
import { type Program, root, startProgram } from '../support/processes.ts';
import { endTrainings } from '../support/trainings.ts';
import { expectAccessible } from './page-checks.ts';
import { type Orchestrator, rowOf, signIn, startOrchestrator } from './panel.ts';

let orchestrator: Orchestrator;
/** The text of the worker program. */
let bundle: string;
/** The parent of the folders in which the workers are installed. */
const home = mkdtempSync(join(tmpdir(), 'trainyard-e2e-update-'));
const programs: Program[] = [];
const workerIds = new Map<string, string>();
const oldVersion = '0.0.1';

test.beforeAll(async () => {
  test.setTimeout(120_000);
  const builder = await createBuilder({ root, logLevel: 'error' });
  const { agent } = builder.environments;
  if (agent === undefined) throw new Error('vite.config.ts builds no agent');
  await builder.build(agent);
  bundle = readFileSync(join(root, 'dist/agent/trainyard-worker.mjs'), 'utf8');
  orchestrator = await startOrchestrator();
});
test.afterAll(async () => {
  for (const program of programs) program.kill('SIGKILL');
  await Promise.all(programs.map(({ exited }) => exited));
  await endTrainings(home);
  await orchestrator.close();
  rmSync(home, { recursive: true, force: true });
});

/** Installs a worker with an old version number in its own folder, and starts the worker. */
async function startRig(name: string, args: readonly string[] = []): Promise<void> {
  const { id, token } = await orchestrator.createWorker({ name });
  workerIds.set(name, id);
  const folder = mkdtempSync(join(home, `${name}-`));
  const file = join(folder, 'trainyard-worker.mjs');
  writeFileSync(file, bundle.replace(`= "${version}";`, `= "${oldVersion}";`));
  const command = [
    process.execPath,
    file,
    '--orchestrator-url',
    orchestrator.url,
    '--name',
    name,
    '--persistent',
  ];
  const program = startProgram([...command, ...args], {
    cwd: folder,
    env: { XDG_STATE_HOME: folder, SIMPLETUNER_WORKER_TOKEN: token },
  });
  programs.push(program);
  await program.waitForLine(/^Connected to /);
}

test('updates from the overview all workers that permit updates, while a running job continues', async ({
  page,
}) => {
  test.setTimeout(120_000);
  await startRig('rig-1');
  await startRig('rig-2');
  await startRig('rig-off', ['--no-remote-update']);
  await signIn(page, orchestrator);
  const job = await orchestrator.submit({ config: { trainer: 'selftest', seconds: 25 } });
  await page.goto(orchestrator.url);
  const attention = page.getByRole('region', { name: 'Needs attention' });
  await expect(attention).toContainText('2 workers can be updated');
  await attention.getByRole('button', { name: 'Update…' }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText(`${oldVersion} → ${version}`);
  await dialog.getByLabel('Restart').selectOption('now');
  await expectAccessible(page, '[role="dialog"]');
  await dialog.getByRole('button', { name: 'Update 2 workers' }).click();
  await expect(dialog).toContainText('2 of 2 updated, 0 failed', { timeout: 60_000 });
  await expect(dialog.getByText(`updated to ${version}`)).toHaveCount(2);
  await dialog.getByRole('button', { name: 'Done' }).click();
  await expect(page.getByText('workers can be updated')).toHaveCount(0);

  await page.goto(`${orchestrator.url}/workers`);
  await expect(rowOf(page, 'rig-1')).toContainText(`agent ${version}`);
  await expect(rowOf(page, 'rig-off')).toContainText('update available');
  await page.goto(`${orchestrator.url}/workers/${workerIds.get('rig-off')}`);
  const note = page.getByRole('note');
  await expect(note).toContainText('its owner has turned off updates from the server');
  await expect(note.locator('code')).toContainText('trainyard-worker update');

  await expect
    .poll(async () => (await orchestrator.call('GET', `/api/queue/${job}`))['status'], { timeout: 60_000 })
    .toBe('completed');
  expect((await orchestrator.call('GET', `/api/queue/${job}`))['attempt']).toBe(1);
});
