/**
 * A scene for each view of the panel. Scenes find elements by structure and not by text, so they work in each language.
 */
import { expect, type Locator, type Page } from '@playwright/test';
import type { FleetInPictures } from './fleet.ts';
import { type Orchestrator, skipSharing } from './panel.ts';

export interface Stage {
  readonly orchestrator: Orchestrator;
  readonly fleet: FleetInPictures;
}

export interface Scene {
  readonly name: string;
  /** Returns the path of the page. */
  readonly path: (stage: Stage) => string;
  /** Selector of an element that must be visible before the checks. */
  readonly ready?: string;
  /** Brings the page into the state of the scene. */
  readonly open?: (page: Page, stage: Stage) => Promise<void>;
  /** Undoes the changes of the scene. */
  readonly close?: (stage: Stage) => Promise<void>;
}

const jobPath =
  (config: string, query = '') =>
  ({ fleet }: Stage): string =>
    `/jobs/${fleet.jobs.get(config)}${query}`;
const workerPath =
  (name: string) =>
  ({ fleet }: Stage): string =>
    `/workers/${fleet.workers.get(name)}`;
/** Creates a `path` that does not depend on the stage. */
const fixedPath = (path: string) => (): string => path;

/** Positions of the actions in a worker's menu. */
const workerActions = { drain: 0, edit: 1, rotate: 2, remove: 3 } as const;

const rowWith = (page: Page, text: string): Locator => page.locator('[data-row]').filter({ hasText: text });

async function openMenu(row: Locator): Promise<void> {
  await row.locator('button[aria-haspopup="menu"]').click();
  await expect(row.page().getByRole('menu')).toBeVisible();
}

/** Opens the dialog of an action in a worker's menu. */
const openWorkerAction =
  (worker: string, action: keyof typeof workerActions) =>
  async (page: Page): Promise<void> => {
    await openMenu(rowWith(page, worker));
    await page.getByRole('menuitem').nth(workerActions[action]).click();
    await expect(dialogOf(page)).toBeVisible();
  };

const dialogOf = (page: Page): Locator => page.locator('[role="dialog"], [role="alertdialog"]');

/** Opens the dialog that adds a worker, and goes to the step that asks for a name. */
async function openJoinDialog(page: Page): Promise<Locator> {
  await page.locator('.page-head .button-primary').click();
  const dialog = dialogOf(page);
  await skipSharing(dialog, button => button.click());
  await expect(dialog.locator('textarea')).toBeVisible();
  return dialog;
}

/** Positions of the actions in the bar for several workers. */
const bulkActions = { drain: 0, undrain: 1, labels: 2 } as const;

/** Selects three workers in different states, and opens the dialog of an action for several workers. */
const openBulkAction =
  (action: keyof typeof bulkActions) =>
  async (page: Page): Promise<void> => {
    for (const name of ['daedalus', 'fenrir', 'gaia']) await rowWith(page, name).locator('input').check();
    await page.locator('.worker-bulk-bar .button-plain').nth(bulkActions[action]).click();
    await expect(dialogOf(page)).toBeVisible();
  };

/** The name of the worker that the scenes of the join dialog create. */
const newWorker = 'rig-9';

/** Creates a worker in the join dialog, and waits for the step that shows the join command. */
async function showJoinCommand(page: Page): Promise<void> {
  const dialog = await openJoinDialog(page);
  await dialog.locator('input').first().fill(newWorker);
  await dialog.locator('button[type="submit"]').click();
  await expect(dialogOf(page).locator('[data-phase="listening"]')).toBeVisible();
}

async function deleteNewWorker({ orchestrator }: Stage): Promise<void> {
  const { workers } = (await orchestrator.call('GET', '/api/admin/workers')) as {
    readonly workers: readonly { readonly id: string; readonly name: string }[];
  };
  for (const { id, name } of workers)
    if (name === newWorker) await orchestrator.call('DELETE', `/api/admin/workers/${id}`);
}

/** A config in which `optimiser` is a misspelt key. */
const configText = `# LoRA of a person
job: extension
config:
  name: my_lora
  process:
    - type: sd_trainer
      network: { type: lora, linear: 16 }
      datasets:
        - folder_path: /data/person
          resolution: [512, 768, 1024]
      train:
        batch_size: 1
        steps: 2000 # enough for 20 pictures
        optimiser: adamw8bit
        lr: 1e-4
      model:
        name_or_path: black-forest-labs/FLUX.1-dev
`;

/** Types a config that no worker can run, so that the page lists why each worker cannot. */
async function typeConfig(page: Page): Promise<void> {
  const form = page.locator('.submit-form');
  await form.locator('.editor textarea').fill(configText);
  await expect(page.locator('.findings li')).toHaveCount(1);
  await form.locator('.advanced > summary').click();
  await expect(page.locator('.answer-rigs li').first()).toBeVisible();
  await expect(page.locator('.live-answer')).toHaveAttribute('aria-busy', 'false');
}

const templateName = 'flux-lora';
const templatePath = `/jobs/new?template=${templateName}`;

/** Saves a template with one parameter of each type, and opens the template. */
async function openTemplate(page: Page, { orchestrator }: Stage): Promise<void> {
  await orchestrator.call('POST', '/api/templates', {
    name: templateName,
    submission: { config: { lr: 1e-4, steps: 2000, optimizer: 'adamw8bit', quantize: true } },
    parameters: [
      { key: 'lr', type: 'number', default: 1e-4, min: 0, max: 1 },
      { key: 'optimizer', choices: ['adamw8bit', 'prodigy'], default: 'adamw8bit' },
      { key: 'quantize', type: 'boolean', default: true },
      { key: 'steps', type: 'integer', default: 500 },
    ],
  });
  await page.goto(new URL(templatePath, page.url()).href);
  await expect(page.locator('.template-values .field')).toHaveCount(5);
  await expect(page.locator('.live-answer')).toHaveAttribute('aria-busy', 'false');
}

/** Fills in several values for a number, a choice and an integer, and varies one more value of the config. */
async function sweepTemplate(page: Page, stage: Stage): Promise<void> {
  await openTemplate(page, stage);
  for (const [place, lines] of [
    [0, '1e-4\n3e-4'],
    [1, null],
    [3, '500\n1000\n2000'],
  ] as const) {
    const field = page.locator('.sweepable').nth(place);
    await field.getByRole('button').click();
    if (lines === null) await field.getByRole('checkbox').last().check();
    else await field.locator('textarea').fill(lines);
  }
  await page.locator('.card-body > div:not(.answer-foot) > .button').last().click();
  await page.locator('.sweep-other input').fill('train_batch_size');
  await page.locator('.sweep-other textarea').fill('1\n2');
  await expect(page.locator('.sweep-summary')).toContainText('24');
  await expect(page.locator('.live-answer')).toHaveAttribute('aria-busy', 'false');
}

async function editTemplate(page: Page, stage: Stage): Promise<void> {
  await openTemplate(page, stage);
  await page.locator('.card-body .answer-foot button').nth(1).click();
  await page.locator('.parameter-more > summary').first().click();
}

const deleteTemplate = async ({ orchestrator }: Stage): Promise<void> => {
  await orchestrator.call('DELETE', `/api/templates/${templateName}`);
};

/** Names of a job that waits for a job of the fleet, and of two jobs that wait for this child. */
const childName = 'flux-upscaler';
const grandchildNames = ['flux-distilled', 'flux-turbo'] as const;

/** Opens a pending job with a running parent and two children. */
async function openChain(page: Page, { orchestrator, fleet }: Stage): Promise<void> {
  const parent = fleet.jobs.get('flux-full-finetune') ?? '';
  const requirements = { worker_labels: { gpu_type: 'a100*' }, gpu_count: 4 };
  const child = await orchestrator.submit({
    name: childName,
    config: {},
    after: [parent],
    inputs: [
      { name: 'lora', from: parent, file: 'checkpoint best' },
      {
        name: 'prompts',
        from: parent,
        file: 'samples/validation prompts/prompts-of-the-whole-training-run.txt',
      },
    ],
    ...requirements,
  });
  for (const name of grandchildNames)
    await orchestrator.submit({ name, config: {}, after: [child], ...requirements });
  await page.goto(`${new URL(page.url()).origin}/jobs/${child}`);
  await expect(page.locator('.chain-job')).toHaveCount(4);
  await expect(page.locator('.job-inputs li')).toHaveCount(2);
}

/** Selects a parent of the job, and two files of the parent as inputs. */
async function addInputs(page: Page, { fleet }: Stage): Promise<void> {
  await page.locator('.advanced > summary').click();
  await page
    .locator('.advanced input[list]')
    .last()
    .fill(fleet.jobs.get('flux-full-finetune') ?? '');
  const add = page.locator('.input-rows > div:last-child button');
  await add.click();
  await add.click();
  await page.locator('.input-row select').first().selectOption('path');
  await expect(page.locator('.input-row input')).toHaveCount(3);
}

async function deleteChain({ orchestrator }: Stage): Promise<void> {
  const { entries } = (await orchestrator.call('GET', '/api/queue?include_completed=false&limit=100')) as {
    readonly entries: readonly { readonly id: string; readonly name: string | null }[];
  };
  const names: readonly (string | null)[] = [childName, ...grandchildNames];
  const ids = entries.filter(({ name }) => names.includes(name)).map(({ id }) => id);
  for (const id of ids) await orchestrator.call('POST', `/api/queue/${id}/cancel`);
  for (const id of ids) await orchestrator.call('DELETE', `/api/queue/${id}`);
}

async function openPalette(page: Page): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.locator('[cmdk-input]').fill('flux');
  await expect(page.locator('[cmdk-item]').first()).toBeVisible();
}

export const scenes: readonly Scene[] = [
  { name: 'overview', path: fixedPath('/'), ready: '.rig-card' },
  { name: 'workers', path: fixedPath('/workers'), ready: '[data-row="7"]' },
  {
    name: 'workers-none-fits',
    path: fixedPath('/workers?q=label:team=nobody'),
    ready: '.empty button',
  },
  {
    name: 'worker-menu',
    path: fixedPath('/workers'),
    open: page => openMenu(rowWith(page, 'atlas')),
  },
  {
    name: 'workers-chosen',
    path: fixedPath('/workers'),
    async open(page) {
      for (const name of ['echo', 'gaia']) await rowWith(page, name).locator('input').check();
    },
  },
  {
    name: 'workers-heat',
    path: fixedPath('/workers'),
    async open(page) {
      await page.locator('.fleet-figure-choice select').selectOption('temperature');
      await page.locator('[data-rig] .gpu').nth(3).hover();
    },
  },
  {
    name: 'workers-columns',
    path: fixedPath('/workers'),
    async open(page) {
      await page.locator('.page-head .button-plain').nth(1).click();
      await expect(page.getByRole('menu')).toBeVisible();
    },
  },
  { name: 'bulk-drain', path: fixedPath('/workers'), open: openBulkAction('drain') },
  { name: 'bulk-undrain', path: fixedPath('/workers'), open: openBulkAction('undrain') },
  { name: 'bulk-labels', path: fixedPath('/workers'), open: openBulkAction('labels') },
  { name: 'worker', path: workerPath('atlas'), ready: '.worker-lines li' },
  { name: 'worker-draining', path: workerPath('daedalus'), ready: '.worker-notice' },
  { name: 'worker-offline', path: workerPath('fenrir'), ready: '.worker-lines li' },
  {
    name: 'join',
    path: fixedPath('/workers'),
    async open(page) {
      await page.locator('.page-head .button-primary').click();
      await expect(dialogOf(page).locator('.dialog-foot')).toBeVisible();
    },
  },
  { name: 'join-name', path: fixedPath('/workers'), open: async page => void (await openJoinDialog(page)) },
  { name: 'join-command', path: fixedPath('/workers'), open: showJoinCommand, close: deleteNewWorker },
  {
    name: 'join-service',
    path: fixedPath('/workers'),
    async open(page) {
      await showJoinCommand(page);
      await page.getByRole('tab').nth(3).click();
      await expect(dialogOf(page).locator('pre').nth(1)).toBeVisible();
    },
    close: deleteNewWorker,
  },
  {
    name: 'join-simpletuner',
    path: fixedPath('/workers'),
    async open(page) {
      await showJoinCommand(page);
      await page.getByRole('tab').nth(5).click();
    },
    close: deleteNewWorker,
  },
  { name: 'drain', path: fixedPath('/workers'), open: openWorkerAction('atlas', 'drain') },
  { name: 'labels', path: fixedPath('/workers'), open: openWorkerAction('atlas', 'edit') },
  { name: 'rotate', path: fixedPath('/workers'), open: openWorkerAction('atlas', 'rotate') },
  { name: 'delete', path: fixedPath('/workers'), open: openWorkerAction('fenrir', 'remove') },
  { name: 'jobs', path: fixedPath('/jobs'), ready: '[data-row="9"]' },
  { name: 'jobs-none-match', path: fixedPath('/jobs?q=nothing-is-called-so'), ready: '.empty button' },
  {
    name: 'job-menu',
    path: fixedPath('/jobs'),
    ready: '[data-row="5"]',
    open: page => openMenu(rowWith(page, 'sd35-lora-interiors')),
  },
  { name: 'job', path: jobPath('kolors-lora-fashion'), ready: '.timeline li:nth-child(2)' },
  { name: 'job-waiting', path: jobPath('sd35-lora-interiors'), ready: '.explained' },
  {
    name: 'job-chain',
    path: jobPath('flux-full-finetune'),
    ready: '.timeline li',
    open: openChain,
    close: deleteChain,
  },
  { name: 'job-failed', path: jobPath('sdxl-lora-portraits'), ready: '.timeline li' },
  { name: 'job-files', path: jobPath('flux-lora-product', '?tab=files'), ready: '.empty, .files-head' },
  { name: 'job-events', path: jobPath('kolors-lora-fashion', '?tab=events'), ready: '.events td' },
  { name: 'job-raw', path: jobPath('kolors-lora-fashion', '?tab=raw'), ready: 'pre.raw' },
  {
    name: 'job-cancel',
    path: jobPath('flux-full-finetune'),
    ready: '.timeline li',
    async open(page) {
      await page.locator('.job-acts .button-danger').click();
      await expect(dialogOf(page)).toBeVisible();
    },
  },
  { name: 'submit', path: fixedPath('/jobs/new'), ready: '.submit-form' },
  { name: 'submit-written', path: fixedPath('/jobs/new'), ready: '.submit-form', open: typeConfig },
  { name: 'submit-inputs', path: fixedPath('/jobs/new'), ready: '.submit-form', open: addInputs },
  {
    name: 'template',
    path: fixedPath('/jobs/new'),
    ready: '.submit-form',
    open: openTemplate,
    close: deleteTemplate,
  },
  {
    name: 'template-sweep',
    path: fixedPath('/jobs/new'),
    ready: '.submit-form',
    open: sweepTemplate,
    close: deleteTemplate,
  },
  {
    name: 'template-edit',
    path: fixedPath('/jobs/new'),
    ready: '.submit-form',
    open: editTemplate,
    close: deleteTemplate,
  },
  { name: 'queue', path: fixedPath('/queue'), ready: '[data-row="2"]' },
  {
    name: 'queue-moving',
    path: fixedPath('/queue'),
    ready: '.wait-groups li',
    async open(page) {
      await page.locator('.wait-toggle').first().click();
      await page.locator('.grip').last().press('Space');
      await expect(page.locator('.move-bar')).toBeVisible();
      await page.keyboard.press('Home');
    },
  },
  {
    name: 'jobs-columns',
    path: fixedPath('/jobs'),
    ready: '[data-row="9"]',
    async open(page) {
      await page.locator('.filter-row .button').click();
      await expect(dialogOf(page).locator('[aria-busy="false"]')).toBeVisible();
    },
  },
  { name: 'timeline', path: fixedPath('/timeline'), ready: '.timeline-bar' },
  { name: 'gallery', path: fixedPath('/gallery'), ready: '.gallery-tile' },
  { name: 'jobs-failed', path: fixedPath('/jobs?q=state:failed'), ready: '.failures' },
  {
    name: 'compare',
    path({ fleet }) {
      const names = ['flux-lora-product', 'flux-lora-product-slow', 'flux-lora-product-fast'];
      return `/compare?jobs=${names.map(name => fleet.jobs.get(name)).join(',')}`;
    },
    ready: '.compare-curves',
  },
  {
    name: 'queue-pause',
    path: fixedPath('/queue'),
    async open(page) {
      await page.locator('.page-head .button').first().click();
      await expect(dialogOf(page)).toBeVisible();
    },
  },
  { name: 'pool-new', path: fixedPath('/pools/new'), ready: '.pool-form' },
  { name: 'data', path: fixedPath('/data'), ready: '[data-row="2"]' },
  {
    name: 'data-menu',
    path: fixedPath('/data'),
    ready: '[data-row="2"]',
    open: page => openMenu(rowWith(page, 'jewellery')),
  },
  {
    name: 'data-delete',
    path: fixedPath('/data'),
    ready: '[data-row="2"]',
    async open(page) {
      await openMenu(rowWith(page, 'fashion-shots'));
      await page.locator('.menu-item[data-danger="true"]').click();
      await expect(dialogOf(page)).toBeVisible();
    },
  },
  {
    name: 'dataset',
    path: ({ fleet }) => `/data/${fleet.datasets.get('fashion-shots')}`,
    ready: '[data-row="2"]',
  },
  { name: 'audit', path: fixedPath('/audit'), ready: '[data-row="9"]' },
  { name: 'settings', path: fixedPath('/settings'), ready: '#settings-theme' },
  { name: 'settings-network', path: fixedPath('/settings/network'), ready: '#settings-network' },
  { name: 'settings-queue', path: fixedPath('/settings/queue'), ready: '#queue-limits' },
  { name: 'settings-workers', path: fixedPath('/settings/workers'), ready: '#settings-gpu-trouble' },
  { name: 'settings-pools', path: fixedPath('/settings/pools'), ready: '#settings-pools' },
  { name: 'settings-data', path: fixedPath('/settings/data'), ready: '#settings-backups' },
  { name: 'settings-notifications', path: fixedPath('/settings/notifications'), ready: '.notify-part' },
  { name: 'settings-access', path: fixedPath('/settings/access'), ready: '#settings-tokens' },
  {
    name: 'settings-search',
    path: fixedPath('/settings'),
    ready: '#settings-theme',
    async open(page) {
      const search = page.locator('.settings-search input');
      await search.fill('TLS');
      await search.press('ArrowDown');
      await expect(page.locator('.settings-found-one').first()).toBeVisible();
    },
  },
  {
    name: 'notification-channel',
    path: fixedPath('/settings/notifications'),
    ready: '.notify-part',
    async open(page) {
      await page.locator('.notify-part > div > .button').first().click();
      await dialogOf(page).locator('select').first().selectOption('webhook');
      await expect(dialogOf(page).locator('input')).toHaveCount(3);
    },
  },
  { name: 'help', path: fixedPath('/help'), ready: '.keys' },
  { name: 'palette', path: fixedPath('/'), ready: '.rig-card', open: openPalette },
  { name: 'nothing-here', path: fixedPath('/workers/no-such-worker'), ready: '.empty' },
];

/** Scenes on a server without any data. */
export const emptyScenes: readonly Scene[] = [
  { name: 'empty-overview', path: fixedPath('/'), ready: '.card' },
  { name: 'empty-workers', path: fixedPath('/workers'), ready: '.card' },
  { name: 'empty-jobs', path: fixedPath('/jobs'), ready: '.empty' },
  { name: 'empty-queue', path: fixedPath('/queue'), ready: '.empty' },
  { name: 'empty-pools', path: fixedPath('/pools'), ready: '.empty' },
  { name: 'empty-data', path: fixedPath('/data'), ready: '.empty' },
];
