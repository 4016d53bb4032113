import { auditApi, workersApi } from '../../protocol/admin-api.ts';
import type { Call } from '../../protocol/call.ts';
import { datasetsApi } from '../../protocol/datasets-api.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import type { May } from '../api/session.ts';

/** Names a page, and also its icon and its title. */
export type PageName =
  | 'overview'
  | 'workers'
  | 'jobs'
  | 'gallery'
  | 'queue'
  | 'timeline'
  | 'pools'
  | 'data'
  | 'audit'
  | 'settings'
  | 'help';

/** The parts of a call that determine who may make it. */
export type Access = Pick<Call, 'authority' | 'own'>;

interface PageEntry {
  readonly name: PageName;
  readonly path: string;
  /** Route pattern of a page that has subpages. */
  readonly pattern?: string;
  /** Key that opens the page when pressed after `g`. */
  readonly key: string;
  /** The page is offered to users who may make at least one of these calls. An empty list means everyone. */
  readonly calls: readonly Access[];
}

export const pages: readonly PageEntry[] = [
  { name: 'overview', path: '/', key: 'o', calls: [queueApi.list, workersApi.list] },
  { name: 'workers', path: '/workers', pattern: '/workers/:id?', key: 'w', calls: [workersApi.list] },
  {
    name: 'jobs',
    path: '/jobs',
    pattern: '/jobs/:id?',
    key: 'j',
    calls: [queueApi.list, queueApi.submit],
  },
  {
    name: 'gallery',
    path: '/gallery',
    key: 'g',
    // Not imported from the API, because that would load the file schemas together with the first page.
    calls: [{ authority: 'queue.view', own: 'filtered' }],
  },
  { name: 'queue', path: '/queue', key: 'q', calls: [queueApi.status] },
  {
    name: 'timeline',
    path: '/timeline',
    key: 't',
    // Not imported from the API, because that would load the timeline schemas together with the first page.
    calls: [{ authority: 'queue.view', own: 'filtered' }],
  },
  {
    name: 'pools',
    path: '/pools',
    pattern: '/pools/:id?/:act?',
    key: 'p',
    // Not imported from the API, because that would load the pool schemas together with the first page.
    calls: [{ authority: 'admin.pools' }],
  },
  { name: 'data', path: '/data', pattern: '/data/:id?', key: 'd', calls: [datasetsApi.list] },
  { name: 'audit', path: '/audit', key: 'a', calls: [auditApi.list] },
  { name: 'settings', path: '/settings', pattern: '/settings/:topic?', key: 's', calls: [] },
  { name: 'help', path: '/help', key: 'h', calls: [] },
];

/** Returns the pages that the user may open. */
export const pagesFor = (may: May): readonly PageEntry[] =>
  pages.filter(({ calls }) => calls.length === 0 || calls.some(call => may(call)));
