import { type ComponentType, lazy } from 'react';
import type { LucideIcon } from 'lucide-react';
import Bell from 'lucide-react/icons/bell';
import Database from 'lucide-react/icons/database';
import KeyRound from 'lucide-react/icons/key-round';
import Layers from 'lucide-react/icons/layers';
import ListOrdered from 'lucide-react/icons/list-ordered';
import Network from 'lucide-react/icons/network';
import Server from 'lucide-react/icons/server';
import SlidersHorizontal from 'lucide-react/icons/sliders-horizontal';
import { backupApi } from '../../../protocol/backup-api.ts';
import { notificationsApi } from '../../../protocol/notifications-api.ts';
import { poolsApi } from '../../../protocol/pools-api.ts';
import { pushApi } from '../../../protocol/push-api.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { sessionApi } from '../../../protocol/session-api.ts';
import { settingsApi } from '../../../protocol/settings-api.ts';
import { tokensApi } from '../../../protocol/tokens-api.ts';
import type { May } from '../../api/session.ts';
import type { Access } from '../../app/pages.ts';
import { loadPart } from '../../app/part.ts';
import type { SettingsState } from '../../app/settings.tsx';
import type { SettingsKey } from '../../i18n/en/settings-topics.ts';
import type { MessageKey } from '../../i18n/index.ts';
import {
  accessEntries,
  dataEntries,
  type Entry,
  generalEntries,
  networkEntries,
  notificationEntries,
  queueEntries,
  workerEntries,
} from './entries.ts';

/** A topic of the settings page. */
export interface Topic {
  /** Last part of the topic's URL path. */
  readonly name: string;
  readonly title: SettingsKey | MessageKey;
  readonly icon: LucideIcon;
  /** The topic is visible to users who may make at least one of these calls. An empty list means all users. */
  readonly calls: readonly Access[];
  readonly Part: ComponentType<SettingsState>;
  readonly entries: readonly Entry[];
}

/** All topics in the order of the list. To add a topic, add a row. The code of a topic loads when a user opens the topic. */
export const topics: readonly Topic[] = [
  {
    name: 'general',
    title: 'topics.general',
    icon: SlidersHorizontal,
    calls: [],
    Part: lazy(() => loadPart(async () => ({ default: (await import('./topics/general.tsx')).General }))),
    entries: generalEntries,
  },
  {
    name: 'network',
    title: 'settings.network',
    icon: Network,
    calls: [settingsApi.get],
    Part: lazy(() =>
      loadPart(async () => ({ default: (await import('./topics/network.tsx')).NetworkTopic })),
    ),
    entries: networkEntries,
  },
  {
    name: 'queue',
    title: 'nav.queue',
    icon: ListOrdered,
    calls: [queueApi.status],
    Part: lazy(() => loadPart(async () => ({ default: (await import('./topics/queue.tsx')).QueueTopic }))),
    entries: queueEntries,
  },
  {
    name: 'workers',
    title: 'nav.workers',
    icon: Server,
    calls: [settingsApi.get],
    Part: lazy(() =>
      loadPart(async () => ({ default: (await import('./topics/workers.tsx')).WorkersTopic })),
    ),
    entries: workerEntries,
  },
  {
    name: 'pools',
    title: 'nav.pools',
    icon: Layers,
    calls: [poolsApi.list],
    Part: lazy(() => loadPart(async () => ({ default: (await import('./topics/pools.tsx')).PoolsTopic }))),
    entries: [{ id: 'settings-pools', label: 'nav.pools', texts: ['topics.pools.explain'] }],
  },
  {
    name: 'data',
    title: 'topics.data',
    icon: Database,
    calls: [settingsApi.get, backupApi.list],
    Part: lazy(() => loadPart(async () => ({ default: (await import('./topics/data.tsx')).DataTopic }))),
    entries: dataEntries,
  },
  {
    name: 'notifications',
    title: 'topics.notifications',
    icon: Bell,
    calls: [pushApi.get, notificationsApi.listChannels],
    Part: lazy(() =>
      loadPart(async () => ({
        default: (await import('./notifications/content.tsx')).NotificationSettings,
      })),
    ),
    entries: notificationEntries,
  },
  {
    name: 'access',
    title: 'topics.access',
    icon: KeyRound,
    calls: [tokensApi.list, sessionApi.list],
    Part: lazy(() => loadPart(async () => ({ default: (await import('./topics/access.tsx')).AccessTopic }))),
    entries: accessEntries,
  },
];

/** Returns the topics that the user may open, with the settings that the user may see. */
export const topicsFor = (may: May, all = topics): readonly Topic[] =>
  all
    .filter(({ calls }) => calls.length === 0 || calls.some(call => may(call)))
    .map(topic => ({
      ...topic,
      entries: topic.entries.filter(({ call }) => call === undefined || may(call)),
    }));
