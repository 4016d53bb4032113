/** The panel marks workers whose version differs from the orchestrator's, and shows how to update them. */
import { expect, type Page, test } from '@playwright/test';
import { version } from '../../protocol/version.ts';
import { type Orchestrator, rowOf, signIn, startOrchestrator } from './panel.ts';

let orchestrator: Orchestrator;
test.beforeAll(async () => {
  orchestrator = await startOrchestrator();
});
test.afterAll(() => orchestrator.close());

interface Rig {
  readonly id: string;
  /** Registers the worker, as an agent does at its start. `fields`: additional fields of the registration. */
  register(fields: object): Promise<void>;
}

/** Creates a worker that only registers. */
async function createRig(name: string): Promise<Rig> {
  const { id, token } = await orchestrator.createWorker({ name });
  let starts = 0;
  return {
    id,
    async register(fields) {
      starts += 1;
      const response = await fetch(`${orchestrator.url}/api/workers/register`, {
        method: 'POST',
        headers: { 'x-worker-token': token, 'content-type': 'application/json' },
        body: JSON.stringify({ name, persistent: true, instance_id: name, start_id: `${starts}`, ...fields }),
      });
      expect(response.status).toBe(200);
    },
  };
}

/** SHA-256 of the list of programs. */
const sums = '5'.repeat(64);

/** Replaces the server's manifest of worker programs. `areBuilt`: whether the server has built programs to offer. */
async function offerPrograms(page: Page, areBuilt: boolean): Promise<void> {
  const manifest = { version, sha256: { install: '1'.repeat(64), sums }, programs: [] };
  await page.route('**/agent/manifest.json', route =>
    route.fulfill(areBuilt ? { json: manifest } : { status: 404, json: {} }),
  );
}

test('marks a worker with an older version in the list, and shows the update command on the page of the worker', async ({
  page,
}) => {
  const oldRig = await createRig('rig-old');
  await oldRig.register({ protocol: 2, agent_version: '0.0.1' });
  const currentRig = await createRig('rig-current');
  await currentRig.register({ protocol: 2, agent_version: version });
  await signIn(page, orchestrator);
  await offerPrograms(page, true);
  await page.goto(`${orchestrator.url}/workers`);
  await expect(rowOf(page, 'rig-old')).toContainText('agent 0.0.1, older than the server');
  await expect(rowOf(page, 'rig-current')).toContainText(`agent ${version}`);
  await expect(rowOf(page, 'rig-current')).not.toContainText('than the server');

  await page.goto(`${orchestrator.url}/workers/${oldRig.id}`);
  const note = page.getByRole('note').filter({ hasText: '0.0.1' });
  await expect(note).toContainText(`Version ${version} is available. This worker runs version 0.0.1.`);
  await expect(note).toContainText('its agent is too old for this, so update it by hand');
  await expect(note.locator('code')).toHaveText(
    `trainyard-worker update --orchestrator-url ${orchestrator.url} --sums ${sums}`,
  );
  await expect(note.getByRole('button', { name: 'Copy command' })).toBeVisible();
});

test("removes the version notice when the worker restarts with the server's version", async ({ page }) => {
  const rig = await createRig('rig-new');
  await rig.register({ protocol: 2, agent_version: '99.0.0' });
  await signIn(page, orchestrator);
  await offerPrograms(page, false);
  await page.goto(`${orchestrator.url}/workers/${rig.id}`);
  const note = page.getByRole('note').filter({ hasText: '99.0.0' });
  await expect(note).toContainText('newer than the server’s');
  // The server has no program, so the command would fail and the panel does not show it.
  await expect(note.locator('code')).toHaveCount(0);
  await rig.register({ protocol: 2, agent_version: version });
  await expect(note).toHaveCount(0);
  await expect(page.getByText(version).first()).toBeVisible();
});

test("shows no version notice for SimpleTuner's own worker", async ({ page }) => {
  const rig = await createRig('rig-v1');
  await rig.register({ agent_version: '0.0.1' });
  await signIn(page, orchestrator);
  await page.goto(`${orchestrator.url}/workers/${rig.id}`);
  await expect(page.getByRole('heading', { level: 1, name: 'rig-v1' })).toBeVisible();
  await expect(page.getByText(/than the server/)).toHaveCount(0);
});
