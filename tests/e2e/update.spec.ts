/** Updates of real workers from the panel: the overview offers them, a dialog shows the progress, the job continues. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { expect, test } from '@playwright/test';
import { createBuilder } from 'vite';
import { version } from '../../protocol/version.ts';
import { type Program, root, startProgram } from '../support/processes.ts';
import { endTrainings } from '../support/trainings.ts';
import { type Orchestrator, rowOf, signIn, startOrchestrator } from './panel.ts';

let orchestrator: Orchestrator;
let bundle: string;
const home = mkdtempSync(join(tmpdir(), 'trainyard-e2e-update-'));
const programs: Program[] = [];
const ids = new Map<string, string>();
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

/** Installs an older worker on a machine of its own, and starts it. */
async function startRig(name: string, args: readonly string[] = []): Promise<void> {
  const made = await orchestrator.call('POST', '/api/admin/workers', { name });
  ids.set(name, String(made['worker_id']));
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
    env: { XDG_STATE_HOME: folder, SIMPLETUNER_WORKER_TOKEN: String(made['token']) },
  });
  programs.push(program);
  await program.said(/^Connected to /);
}

test('updates all workers from the overview, and the running job continues', async ({ page }) => {
  test.setTimeout(120_000);
  await startRig('rig-1');
  await startRig('rig-2');
  await startRig('rig-off', ['--no-remote-update']);
  await signIn(page, orchestrator);
  const job = await orchestrator.submit({ config: { trainer: 'selftest', seconds: 25 } });
  await page.goto(orchestrator.url);
  const needs = page.getByRole('region', { name: 'Needs attention' });
  await expect(needs).toContainText('2 workers can be updated');
  await needs.getByRole('button', { name: 'Update…' }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText(`${oldVersion} → ${version}`);
  await dialog.getByLabel('Restart').selectOption('now');
  expect((await new AxeBuilder({ page }).include('[role="dialog"]').analyze()).violations).toEqual([]);
  await dialog.getByRole('button', { name: 'Update 2 workers' }).click();
  await expect(dialog).toContainText('2 of 2 updated, 0 failed', { timeout: 60_000 });
  await expect(dialog.getByText(`updated to ${version}`)).toHaveCount(2);
  await dialog.getByRole('button', { name: 'Done' }).click();
  await expect(page.getByText('workers can be updated')).toHaveCount(0);

  await page.goto(`${orchestrator.url}/workers`);
  await expect(rowOf(page, 'rig-1')).toContainText(`agent ${version}`);
  await expect(rowOf(page, 'rig-off')).toContainText('update available');
  await page.goto(`${orchestrator.url}/workers/${ids.get('rig-off')}`);
  const note = page.getByRole('note');
  await expect(note).toContainText('its owner has turned off updates from the server');
  await expect(note.locator('code')).toContainText('trainyard-worker update');

  await expect
    .poll(async () => (await orchestrator.call('GET', `/api/queue/${job}`))['status'], { timeout: 60_000 })
    .toBe('completed');
  expect((await orchestrator.call('GET', `/api/queue/${job}`))['attempt']).toBe(1);
});
