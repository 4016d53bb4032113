/** The number on the app's icon. tests/desktop/embedded.spec.ts tests the progress bar of jobs on this computer. */
import { expect } from '@playwright/test';
import { type App, test } from '../support/desktop/driver.ts';

/** Makes Electron record the numbers, because the test system has no launcher that shows them. */
async function recordBadges({ electron }: App): Promise<void> {
  await electron?.evaluate(({ app }) => {
    const badges: number[] = [];
    Object.assign(app, { badges, setBadgeCount: (count: number) => badges.push(count) > 0 });
  });
}

/** Returns the number on the icon. */
async function badgeOf({ electron, inspect }: App): Promise<number> {
  if (electron === null) return (await inspect()).badge;
  return electron.evaluate(({ app }) => (app as unknown as { badges: number[] }).badges.at(-1) ?? 0);
}

test("shows the number of jobs that wait for approval on the app's icon", async ({ orchestrator, start }) => {
  const app = await start({ dataDir: orchestrator.dataDir });
  await expect(app.page.getByText('Live')).toBeVisible();
  await recordBadges(app);
  await orchestrator.call('POST', '/api/queue/concurrency', { approval_required_for: ['*'] });
  const token = await orchestrator.createToken('ada', ['queue.submit', 'queue.view']);
  const response = await fetch(`${orchestrator.url}/api/queue/submit`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ config_name: 'portraits', config: {}, target: 'worker' }),
  });
  const { job_id: job } = (await response.json()) as { readonly job_id: string };
  await expect.poll(() => badgeOf(app)).toBe(1);
  await app.page.getByRole('link', { name: 'Overview', exact: true }).click();
  await expect(app.page.getByRole('region', { name: 'Needs attention' }).getByRole('listitem')).toHaveCount(
    1,
  );
  await orchestrator.call('POST', `/api/queue/${job}/cancel`, {});
  await expect.poll(() => badgeOf(app)).toBe(0);
});
