/** Scenes of worker updates. The server of the scenes has no built worker programs, so this file adds updates to its replies. */
import { expect, type Page } from '@playwright/test';
import type { UpdateAnswer } from '../../protocol/worker-update.ts';
import type { WorkerUpdate } from '../../protocol/worker-update-view.ts';
import type { WorkerView } from '../../protocol/worker.ts';
import type { Scene, Stage } from './scenes.ts';

const version = '0.2.0';
const newer: WorkerUpdate = { available: true, version, blocked: null, order: null };
const since = new Date(Date.now() - 60_000).toISOString();
const order = { when: 'idle', by: 'admin', since, version, reason: null } as const;

/** The update of each worker before a user requests any. */
const offered: Readonly<Record<string, WorkerUpdate>> = {
  atlas: newer,
  echo: newer,
  gaia: { ...newer, blocked: 'off' },
  fenrir: { ...newer, blocked: 'offline' },
};
/** The same updates after a user has requested those of `atlas` and `echo`. */
const requested: Readonly<Record<string, WorkerUpdate>> = {
  ...offered,
  atlas: { ...newer, order: { ...order, state: 'waiting' } },
  echo: {
    ...newer,
    order: { ...order, state: 'failed', reason: 'The download ended after 3 of 12 MB: connection reset.' },
  },
};

const lists = /\/api\/admin\/workers(?:\?|$)/;
const requests = /\/api\/admin\/worker-updates$/;

/** Adds updates to the workers in the server's replies. A later call replaces the updates of an earlier call. */
async function extendReplies(page: Page, updates: Readonly<Record<string, WorkerUpdate>>): Promise<void> {
  await page.route(lists, async route => {
    const response = await route.fetch();
    const body = (await response.json()) as { readonly workers: readonly WorkerView[] };
    const workers = body.workers.map(worker => ({
      ...worker,
      agent_version: '0.1.0',
      update: updates[worker.name] ?? worker.update,
    }));
    await route.fulfill({ response, json: { ...body, workers } });
  });
}

/** Reloads the page with these updates in the server's replies. The next navigation of the page removes the updates. */
async function reloadWith(page: Page, updates: Readonly<Record<string, WorkerUpdate>>): Promise<void> {
  await extendReplies(page, updates);
  await page.reload();
  await expect(page.getByRole('main').locator('[aria-busy="true"]')).toHaveCount(0);
  page.once('framenavigated', () => void page.unrouteAll({ behavior: 'ignoreErrors' }));
}

const dialogOf = (page: Page) => page.getByRole('dialog');

async function openDialog(page: Page): Promise<void> {
  await reloadWith(page, offered);
  for (const name of ['atlas', 'echo', 'gaia', 'fenrir'])
    await page.locator('[data-row]').filter({ hasText: name }).locator('input').check();
  await page.locator('.worker-bulk-bar .button-plain').last().click();
  await expect(dialogOf(page).locator('select')).toHaveCount(2);
}

/** Requests the updates in the dialog. The simulated reply accepts them for all workers. */
async function sendRequest(page: Page): Promise<void> {
  await openDialog(page);
  await page.route(requests, async route => {
    const { workers: ids } = route.request().postDataJSON() as { readonly workers: readonly string[] };
    const workers = ids.map(id => ({
      worker_id: id as UpdateAnswer['worker_id'],
      name: id,
      accepted: true,
      refusal: null,
      detail: 'queued',
    })) satisfies readonly UpdateAnswer[];
    await route.fulfill({ json: { workers, version, command: null } });
  });
  await extendReplies(page, requested);
  await dialogOf(page).locator('button[type="submit"]').click();
  await expect(dialogOf(page).locator('.worker-outcomes')).toContainText('connection reset');
}

const workerPath =
  (name: string) =>
  ({ fleet }: Stage): string =>
    `/workers/${fleet.workers.get(name)}`;

async function expectNotice(page: Page, updates: Readonly<Record<string, WorkerUpdate>>): Promise<void> {
  await reloadWith(page, updates);
  await expect(page.locator('.worker-notice[role="note"]').first()).toBeVisible();
}

const ready = '.worker-lines li';

export const updateScenes: readonly Scene[] = [
  {
    name: 'overview-updates',
    path: () => '/',
    ready: '.rig-card',
    open: async page => {
      await reloadWith(page, offered);
      await expect(page.locator('.rig-card').first()).toBeVisible();
    },
  },
  { name: 'update', path: () => '/workers', ready: '[data-row="7"]', open: openDialog },
  { name: 'update-results', path: () => '/workers', ready: '[data-row="7"]', open: sendRequest },
  {
    name: 'worker-update',
    path: workerPath('atlas'),
    ready,
    open: page => expectNotice(page, offered),
  },
  {
    name: 'worker-update-off',
    path: workerPath('gaia'),
    ready,
    open: page => expectNotice(page, offered),
  },
  {
    name: 'worker-update-failed',
    path: workerPath('echo'),
    ready,
    open: page => expectNotice(page, requested),
  },
];
