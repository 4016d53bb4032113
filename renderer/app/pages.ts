import type { MessageKey } from '../i18n/index.ts';
import type { IconName } from '../ui/icon.tsx';

interface PageEntry {
  readonly path: string;
  readonly name: MessageKey;
  readonly icon: IconName;
  /** After `g`. */
  readonly key: string;
}

export const pages: readonly PageEntry[] = [
  { path: '/', name: 'nav.overview', icon: 'overview', key: 'o' },
  { path: '/workers', name: 'nav.workers', icon: 'workers', key: 'w' },
  { path: '/jobs', name: 'nav.jobs', icon: 'jobs', key: 'j' },
  { path: '/queue', name: 'nav.queue', icon: 'queue', key: 'q' },
  { path: '/audit', name: 'nav.audit', icon: 'audit', key: 'a' },
  { path: '/settings', name: 'nav.settings', icon: 'settings', key: 's' },
  { path: '/help', name: 'nav.help', icon: 'help', key: 'h' },
];
