import { auditApi, workersApi } from '../../protocol/admin-api.ts';
import type { Call } from '../../protocol/call.ts';
import { datasetsApi } from '../../protocol/datasets-api.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import type { May } from '../api/person.ts';

/** Of its icon, and of its text, too. */
export type PageName = 'overview' | 'workers' | 'jobs' | 'queue' | 'data' | 'audit' | 'settings' | 'help';

interface PageEntry {
  readonly name: PageName;
  readonly path: string;
  /** Where it has pages below it. */
  readonly pattern?: string;
  /** After `g`. */
  readonly key: string;
  /** It is of use to who may make one of these calls; to everybody, where there are none. */
  readonly calls: readonly Call[];
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
  { name: 'queue', path: '/queue', key: 'q', calls: [queueApi.status] },
  { name: 'data', path: '/data', pattern: '/data/:id?', key: 'd', calls: [datasetsApi.list] },
  { name: 'audit', path: '/audit', key: 'a', calls: [auditApi.list] },
  { name: 'settings', path: '/settings', key: 's', calls: [] },
  { name: 'help', path: '/help', key: 'h', calls: [] },
];

/** Those that show something to who may do so much. */
export const pagesFor = (may: May): readonly PageEntry[] =>
  pages.filter(({ calls }) => calls.length === 0 || calls.some(call => may(call)));
