/** Tests which pages and actions the permissions of the signed-in user allow. */
import { describe, expect, test } from 'vitest';
import { ownPermissions, type Permission, permissions } from '../../../../protocol/call.ts';
import { queueApi } from '../../../../protocol/queue-api.ts';
import { settingsApi } from '../../../../protocol/settings-api.ts';
import { isSamePerson, createMay, toPerson, shownPermissions } from '../../../../renderer/api/session.ts';
import { pagesFor } from '../../../../renderer/app/pages.ts';
import { everyCall } from '../../../support/every-call.ts';
import { jobView } from '../../../support/job-view.ts';
import {
  buttonsFor,
  isOffered,
  jobActions,
  mayActOnJobs,
} from '../../../../renderer/pages/jobs/job-actions.tsx';

const mayWith = (...held: readonly Permission[]) => createMay({ user: 'ada', permissions: held });
const pathsFor = (...held: readonly Permission[]): readonly string[] =>
  pagesFor(mayWith(...held)).map(({ path }) => path);

describe('createMay', () => {
  test('allows with each single permission exactly the calls that need this permission, and the open calls', () => {
    for (const held of permissions) {
      const allowed = everyCall.filter(row => mayWith(held)(row)).map(({ authority }) => authority);
      expect([held, new Set(allowed)]).toEqual([held, new Set([held.replace(/\.own$/, ''), 'open'])]);
    }
  });

  test('allows with all permissions every call except calls of workers, joining hosts and uploads', () => {
    const refused = everyCall.filter(row => !mayWith(...permissions)(row));
    expect(new Set(refused.map(({ authority }) => authority))).toEqual(new Set(['worker', 'join', 'upload']));
  });

  test('allows reading the settings with admin.workers, but not changing them', () => {
    expect(mayWith('admin.workers')(settingsApi.get)).toBe(true);
    expect(mayWith('admin.workers')(settingsApi.change)).toBe(false);
  });
});

test.each<readonly [readonly Permission[], readonly Permission[]]>([
  [['queue.view', 'queue.view.own'], ['queue.view']],
  [
    ['queue.view.own', 'queue.submit', 'queue.submit.own'],
    ['queue.view.own', 'queue.submit'],
  ],
  [['queue.view.own'], ['queue.view.own']],
  [[], []],
])(
  'shows the permissions %j as %j, because a full permission includes its own-only form',
  (held, expected) => {
    expect(shownPermissions(held)).toEqual(expected);
  },
);

describe('the navigation of the panel', () => {
  const pagesOfEveryone = ['/settings', '/help'];

  test.each<readonly [readonly Permission[], readonly string[]]>([
    [permissions, ['/', '/workers', '/jobs', '/gallery', '/queue', '/timeline', '/pools', '/data', '/audit']],
    [['queue.view'], ['/', '/jobs', '/gallery', '/queue', '/timeline', '/data']],
    [['queue.view.own'], ['/', '/jobs', '/gallery', '/queue', '/timeline', '/data']],
    [['queue.submit'], ['/jobs']],
    [['admin.workers'], ['/', '/workers']],
    [['admin.audit'], ['/audit']],
    [['admin.pools'], ['/pools']],
    [['admin.tokens'], []],
    [[], []],
  ])('shows a user with the permissions %j the pages %j, Settings and Help', (held, paths) => {
    expect(pathsFor(...held)).toEqual([...paths, ...pagesOfEveryone]);
  });
});

describe('job actions', () => {
  const offeredActions = (job: Parameters<typeof jobView>[0], held: readonly Permission[]) =>
    jobActions.filter(act => isOffered(act, jobView(job), mayWith(...held)));
  const offeredForPending = (...held: readonly Permission[]) =>
    offeredActions({ status: 'pending', approval: 'wanted' }, held);
  const requestActions = ['save', 'sample'];

  test('offers job actions only when the user has the permissions for their API calls', () => {
    expect(offeredForPending(...permissions)).toEqual(
      jobActions.filter(act => !requestActions.includes(act)),
    );
    expect(offeredForPending('queue.view', 'queue.submit')).toEqual(['retry', 'duplicate']);
    expect(offeredForPending('queue.view', 'queue.cancel')).toEqual(['cancel']);
    expect(offeredForPending('queue.view')).toEqual([]);
  });

  test('offers save and sample only when the job supports these actions and the user may cancel the job', () => {
    const running = { status: 'running', requests: ['save', 'sample'] } as const;
    const offeredRequests = (job: Parameters<typeof jobView>[0], ...held: readonly Permission[]) =>
      offeredActions(job, held).filter(act => requestActions.includes(act));
    expect(offeredRequests({ ...running, requests: [...running.requests] }, 'queue.cancel')).toEqual(
      requestActions,
    );
    expect(offeredRequests({ status: 'running', requests: ['sample'] }, 'queue.cancel')).toEqual(['sample']);
    expect(offeredRequests({ status: 'running', requests: ['save'] }, 'queue.view')).toEqual([]);
  });

  test("shows a button only when the trainer, the job state and the user's permissions allow the action", () => {
    const buttons = (job: Parameters<typeof jobView>[0], ...held: readonly Permission[]) =>
      buttonsFor(jobView(job), mayWith(...held));
    const all = ['queue.view', 'queue.submit', 'queue.cancel'] as const;
    const running = { status: 'running', requests: ['save'] };
    expect(buttons(running, ...all)).toEqual(['save', 'duplicate', 'cancel']);
    expect(buttons({ ...running, requests: ['save', 'sample'] }, ...all)).toEqual([
      'save',
      'sample',
      'duplicate',
      'cancel',
    ]);
    expect(buttons({ ...running, status: 'recovering' }, ...all)).toEqual(['duplicate', 'cancel']);
    expect(buttons({ ...running, status: 'cancelling' }, ...all)).toEqual(['duplicate']);
    expect(buttons({ ...running, status: 'failed' }, ...all)).toEqual(['duplicate']);
    expect(buttons(running, 'queue.view')).toEqual([]);
  });

  test("offers job actions only for the user's own jobs with own-only permissions", () => {
    const held = ['queue.view', ...ownPermissions] as const;
    const ended = { status: 'completed' } as const;
    expect(offeredActions({ ...ended, user: 'bob' }, held)).toEqual(['duplicate']);
    expect(offeredActions({ ...ended, user: 'ada' }, held)).toEqual([
      'cancel',
      'retry',
      'duplicate',
      'delete',
    ]);
  });

  test('hides the column of actions in the job list when the user may act on no job', () => {
    expect(mayActOnJobs(mayWith('queue.view'))).toBe(false);
    expect(mayActOnJobs(mayWith('queue.view', 'queue.manage'))).toBe(true);
    expect(mayWith('queue.manage')(queueApi.list)).toBe(false);
  });
});

describe('session', () => {
  const session = { user: 'ada', permissions: ['queue.view' as const], expires_at: null };

  test('treats a session without a user as signed out', () => {
    expect(toPerson({ ...session, user: null })).toBeNull();
    expect(toPerson(session)).toEqual({ user: 'ada', permissions: ['queue.view'], until: null });
  });

  test('treats sessions with the same user and permissions as equal, even when the expiry differs', () => {
    const ada = { user: 'ada', permissions: ['queue.view', 'queue.submit'] as const, until: null };
    const later = { ...ada, permissions: ['queue.submit', 'queue.view'] as const, until: '2027-01-01' };
    expect(isSamePerson(ada, later)).toBe(true);
    expect(isSamePerson(ada, { ...ada, user: 'bob' })).toBe(false);
    expect(isSamePerson(ada, { ...ada, permissions: ['queue.view'] })).toBe(false);
  });
});
