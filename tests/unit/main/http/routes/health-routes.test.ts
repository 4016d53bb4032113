import { describe, expect, it } from 'vitest';
import type { HealthComponent } from '../../../../../protocol/health-api.ts';
import { type Checks, judgeHealth, worstOf } from '../../../../../main/http/routes/health-routes.ts';

const gib = 2 ** 30;
const hourMs = 3_600_000;

const healthyChecks: Checks = {
  acceptsWrites: true,
  clockJumpMs: null,
  loop: { sinceMs: 1_000, maxMs: 30_000 },
  workers: { total: 2, connected: 1, streams: 1 },
  commitMs: 1.2345,
  freeBytes: 5 * gib,
  reserveBytes: gib,
  backup: { ageMs: 60_000, hasFailed: false },
  uptimeMs: 10_000,
};

const componentOf = (changes: Partial<Checks>, name: HealthComponent['name']): HealthComponent => {
  const match = judgeHealth({ ...healthyChecks, ...changes }).find(component => component.name === name);
  if (match === undefined) throw new Error(`no component ${name}`);
  return match;
};

describe('a health report', () => {
  it('reports the server as healthy when every check passes', () => {
    const components = judgeHealth(healthyChecks);
    expect(components.map(({ name, status }) => `${name} ${status}`)).toEqual([
      'database healthy',
      'disk healthy',
      'clock healthy',
      'health_loop healthy',
      'workers healthy',
      'backup healthy',
    ]);
    expect(worstOf(components)).toBe('healthy');
    expect(componentOf({}, 'database').latency_ms).toBe(1.23);
    expect(componentOf({}, 'disk').message).toBe('5.0 GiB free in the data folder');
  });

  it.each<[HealthComponent['name'], Partial<Checks>, HealthComponent['status'], RegExp]>([
    ['database', { acceptsWrites: false, commitMs: null }, 'unhealthy', /accepts no changes/],
    ['database', { commitMs: null }, 'unhealthy', /accepts no changes/],
    ['database', { commitMs: 1_000 }, 'degraded', /takes 1\.0 s/],
    ['database', { commitMs: 999 }, 'healthy', /accepts changes/],
    ['disk', { freeBytes: null }, 'unhealthy', /cannot be read/],
    ['disk', { freeBytes: gib }, 'degraded', /refuses uploads/],
    ['disk', { freeBytes: gib + 1 }, 'healthy', /free/],
    ['clock', { clockJumpMs: 90_000 }, 'degraded', /90 s ahead of/],
    ['clock', { clockJumpMs: -90_000 }, 'degraded', /90 s behind/],
    ['health_loop', { loop: { sinceMs: 40_000, maxMs: 30_000 } }, 'healthy', /40 s ago/],
    ['health_loop', { loop: { sinceMs: 40_001, maxMs: 30_000 } }, 'unhealthy', /Restart the server/],
    ['workers', { workers: { total: 0, connected: 0, streams: 0 } }, 'healthy', /No workers yet/],
    ['workers', { workers: { total: 3, connected: 0, streams: 0 } }, 'degraded', /0 of 3/],
    ['backup', { backup: { ageMs: 2 * hourMs, hasFailed: false } }, 'healthy', /120 min old/],
    ['backup', { backup: { ageMs: 2 * hourMs + 1, hasFailed: false } }, 'degraded', /overdue/],
    ['backup', { backup: { ageMs: 60_000, hasFailed: true } }, 'degraded', /last backup failed/],
    ['backup', { backup: { ageMs: null, hasFailed: false } }, 'healthy', /after an hour/],
    [
      'backup',
      { backup: { ageMs: null, hasFailed: false }, uptimeMs: 2 * hourMs },
      'degraded',
      /there is none/,
    ],
  ])('reports the component %s with %o as %s', (name, changes, status, message) => {
    expect(componentOf(changes, name)).toMatchObject({ status, message: expect.stringMatching(message) });
  });

  it('reports the worst status of all components', () => {
    expect(worstOf(judgeHealth({ ...healthyChecks, clockJumpMs: 90_000 }))).toBe('degraded');
    expect(worstOf(judgeHealth({ ...healthyChecks, clockJumpMs: 90_000, freeBytes: null }))).toBe(
      'unhealthy',
    );
  });
});
