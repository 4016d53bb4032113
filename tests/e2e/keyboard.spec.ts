/** Uses the panel only with the keyboard. After each step, the focused element must be visible. */
import { expect, type Locator, type Page, test } from '@playwright/test';
import { type Orchestrator, skipSharing, rowOf, startOrchestrator } from './panel.ts';

let orchestrator: Orchestrator;
test.beforeAll(async () => {
  orchestrator = await startOrchestrator();
  await orchestrator.startRig('rig-a');
  await orchestrator.startRig('rig-b');
  await submitPending('far-job');
});
test.afterAll(() => orchestrator.close());

/** Submits a job that no worker can take. */
const submitPending = (name: string): Promise<string> =>
  orchestrator.submit({ config_name: name, config: {}, worker_labels: { nobody: 'has-this' } });

/** Maximum number of times that Tab is pressed to reach an element. */
const maxTabs = 60;

const hasFocus = (element: Locator): Promise<boolean> =>
  element.evaluateAll(elements => {
    const { document } = globalThis as unknown as {
      readonly document: { readonly activeElement: unknown };
    };
    return elements.some(candidate => document.activeElement === candidate);
  });

async function expectFocus(element: Locator): Promise<void> {
  await expect(element).toBeFocused();
  await expect(element).toHaveCSS('outline-style', /solid|auto/);
}

/** Presses Tab until the element has the focus. */
async function tabTo(page: Page, element: Locator): Promise<void> {
  await expect(element).toBeVisible();
  for (let count = 0; count < maxTabs && !(await hasFocus(element)); count += 1)
    await page.keyboard.press('Tab');
  await expectFocus(element);
}

async function signInByKeys(page: Page): Promise<void> {
  await page.goto(orchestrator.url);
  await tabTo(page, page.getByLabel('Token'));
  await page.keyboard.type(orchestrator.token);
  await page.keyboard.press('Enter');
  await expect(page.getByRole('navigation')).toBeVisible();
}

/** Opens a page by its two keys. Presses the keys again if a busy machine let too much time pass between them. */
async function openByKeys(page: Page, key: string, title: string): Promise<void> {
  const heading = page.getByRole('heading', { level: 1, name: title });
  await expect(async () => {
    await page.keyboard.press('g');
    await page.keyboard.press(key);
    await expect(heading).toBeVisible({ timeout: 2_000 });
  }).toPass();
}

test('signs in by keyboard, and moves the focus past the navigation to the content', async ({ page }) => {
  await signInByKeys(page);
  const skip = page.getByRole('link', { name: 'Skip to content' });
  await tabTo(page, skip);
  await expect(skip).toBeInViewport();
  await page.keyboard.press('Enter');
  await expect(page.locator('#content')).toBeFocused();
  await expect(page.locator('#content a').first()).toBeVisible();
  await page.keyboard.press('Tab');
  expect(await hasFocus(page.locator('#content a, #content button'))).toBe(true);
  await tabTo(page, page.getByRole('navigation').getByRole('link', { name: 'Jobs' }));
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1, name: 'Jobs' })).toBeVisible();
});

test('adds a worker by keyboard, and returns the focus to the button "Add worker"', async ({ page }) => {
  await signInByKeys(page);
  await openByKeys(page, 'w', 'Workers');
  const add = page.getByRole('button', { name: 'Add worker' });
  await tabTo(page, add);
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await expect(dialog).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(dialog).toHaveCount(0);
  await expectFocus(add);

  await page.keyboard.press('Enter');
  await skipSharing(dialog, async button => {
    await tabTo(page, button);
    await page.keyboard.press('Enter');
  });
  await tabTo(page, dialog.getByLabel('Name', { exact: true }));
  await page.keyboard.type('rig-keys');
  await tabTo(page, page.getByRole('button', { name: 'Create and show command' }));
  await page.keyboard.press('Enter');
  const startDialog = page.getByRole('dialog', { name: 'Start rig-keys' });
  await expect(startDialog).toBeVisible();
  await tabTo(page, startDialog.getByRole('tab', { name: 'Shell' }));
  await page.keyboard.press('ArrowRight');
  await expectFocus(startDialog.getByRole('tab', { name: 'Windows' }));
  await expect(startDialog.locator('pre').first()).toContainText('curl.exe');
  await page.keyboard.press('ArrowRight');
  await expectFocus(startDialog.getByRole('tab', { name: 'Environment' }));
  await expect(startDialog.locator('pre')).toContainText('export SIMPLETUNER_WORKER_NAME=rig-keys');
  await tabTo(page, startDialog.getByRole('button', { name: 'Done' }));
  await page.keyboard.press('Enter');
  await expect(startDialog).toHaveCount(0);
  await expect(rowOf(page, 'rig-keys')).toBeVisible();
  await expectFocus(add);
});

test("opens the menu of a worker's row by keyboard, and drains the worker with a reason", async ({
  page,
}) => {
  await signInByKeys(page);
  await openByKeys(page, 'w', 'Workers');
  await expect(rowOf(page, 'rig-b')).toContainText('idle', { timeout: 20_000 });
  await tabTo(page, page.locator('[data-row="0"]'));
  await page.keyboard.press('j');
  await expectFocus(page.locator('[data-row="1"]'));
  await page.keyboard.press('k');
  await expectFocus(page.locator('[data-row="0"]'));
  const menu = page.locator('[data-row="0"]').getByRole('button').last();
  await tabTo(page, menu);
  await page.keyboard.press('Enter');
  await expect(page.getByRole('menuitem', { name: 'Drain…' })).toBeFocused();
  await page.keyboard.press('Escape');
  await expectFocus(menu);

  await page.keyboard.press('Enter');
  await expect(page.getByRole('menuitem', { name: 'Drain…' })).toBeFocused();
  await page.keyboard.press('Enter');
  const question = page.getByRole('alertdialog');
  await expectFocus(question.getByRole('button', { name: 'Cancel' }));
  await tabTo(page, question.getByLabel(/^Reason/));
  await page.keyboard.type('dust');
  await tabTo(page, question.getByRole('button', { name: 'Drain', exact: true }));
  await page.keyboard.press('Enter');
  await expect(page.locator('[data-row="0"]')).toContainText('by admin: dust');
  await expectFocus(menu);
  await page.keyboard.press('Shift+Tab');
  await tabTo(page, page.locator('[data-row="1"]'));
  await page.keyboard.press('Enter');
  await expect(page.getByRole('region', { name: 'Connection' })).toBeVisible();
});

test('opens a job from the command palette, the help page with "?", and other pages with shortcuts', async ({
  page,
}) => {
  await signInByKeys(page);
  await tabTo(page, page.getByRole('navigation').getByRole('link', { name: 'Audit' }));
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('dialog', { name: 'Go to' });
  await expect(palette.getByRole('combobox')).toBeFocused();
  await page.keyboard.press('Escape');
  await expectFocus(page.getByRole('navigation').getByRole('link', { name: 'Audit' }));

  await page.keyboard.press('Control+k');
  await page.keyboard.type('far-jo');
  await expect(palette.getByRole('option')).toHaveCount(1);
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1, name: 'far-job' })).toBeVisible();
  const tabs = page.getByRole('tab');
  await tabTo(page, tabs.first());
  await page.keyboard.press('End');
  await expectFocus(tabs.last());
  await expect(page.locator('pre.raw')).toBeVisible();
  await page.keyboard.press('Shift+Slash');
  await expect(page.getByRole('heading', { level: 1, name: 'Help' })).toBeVisible();
  await page.keyboard.press('g');
  await page.keyboard.press('j');
  await expect(page.getByRole('heading', { level: 1, name: 'Jobs' })).toBeVisible();
  await page.keyboard.press('/');
  await expectFocus(page.getByRole('searchbox'));
  // In a text field, "g w" is text and not the shortcut of the workers page.
  await page.keyboard.type('state:pending g w');
  await expect(page.getByRole('heading', { level: 1, name: 'Jobs' })).toBeVisible();
});

test('performs actions from the command palette: theme, pause, drain and cancel', async ({ page }) => {
  await submitPending('near-job');
  await signInByKeys(page);
  const palette = page.getByRole('dialog', { name: 'Go to' });
  const perform = async (words: string, option: string): Promise<void> => {
    await page.keyboard.press('Control+k');
    await expect(palette.getByRole('combobox')).toBeFocused();
    await page.keyboard.type(words);
    await expect(palette.getByRole('option', { name: option })).toHaveAttribute('aria-selected', 'true');
    await page.keyboard.press('Enter');
    await expect(palette).toBeHidden();
  };
  await perform('theme dark', 'Theme: Dark');
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');

  await perform('pause', 'Pause queue');
  const pause = page.getByRole('dialog', { name: 'Pause queue' });
  await tabTo(page, pause.getByRole('button', { name: 'Pause', exact: true }));
  await page.keyboard.press('Enter');
  await expect(pause).toBeHidden();
  await perform('resume', 'Resume queue');

  await perform('drain rig-b', 'Drain: rig-b');
  await tabTo(page, page.getByRole('alertdialog').getByRole('button', { name: 'Drain', exact: true }));
  await page.keyboard.press('Enter');
  await expect(page.getByRole('alertdialog')).toBeHidden();
  await page.goto(`${orchestrator.url}/workers`);
  await expect(rowOf(page, 'rig-b')).toContainText('by admin');

  await perform('cancel near', 'Cancel job: near-job');
  await expect(page.getByText('near-job').first()).toBeVisible();
  // The panel cancels the job when the message that offers to undo this disappears, after a few seconds.
  await page.goto(`${orchestrator.url}/jobs`);
  await expect(rowOf(page, 'near-job')).toContainText('cancelled');
});
