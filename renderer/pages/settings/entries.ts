/** The settings that the search on the settings page can find, by topic. */
import { backupApi } from '../../../protocol/backup-api.ts';
import { notificationsApi } from '../../../protocol/notifications-api.ts';
import { pushApi } from '../../../protocol/push-api.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { sessionApi } from '../../../protocol/session-api.ts';
import { settingsApi } from '../../../protocol/settings-api.ts';
import { tokensApi } from '../../../protocol/tokens-api.ts';
import { desktop } from '../../app/desktop.tsx';
import type { Access } from '../../app/pages.ts';
import type { SettingsKey } from '../../i18n/en/settings-topics.ts';
import { languages, type MessageKey } from '../../i18n/index.ts';

/** A setting that the search finds. */
export interface Entry {
  /** The element id of the control, or of the heading of its section. It is also the fragment of the setting's URL. */
  readonly id: string;
  readonly label: SettingsKey | MessageKey;
  /** Further texts that match a search: the description and the names of the options. */
  readonly texts?: readonly (SettingsKey | MessageKey)[];
  /** Further words that match a search and are the same in each language, such as the names of the languages. */
  readonly words?: readonly string[];
  /** The setting is shown to users who may make this call. Without a call, to all users who see the topic. */
  readonly call?: Access;
}

export const generalEntries: readonly Entry[] = [
  { id: 'settings-you', label: 'topics.account', texts: ['signOut', 'may.may'] },
  {
    id: 'settings-theme',
    label: 'settings.theme',
    texts: ['settings.looks', 'settings.theme.system', 'settings.theme.light', 'settings.theme.dark'],
  },
  {
    id: 'settings-language',
    label: 'settings.language',
    texts: ['settings.looks'],
    words: Object.values(languages),
  },
  { id: 'settings-zone', label: 'settings.zone', texts: ['settings.looks', 'settings.zone.utc'] },
  ...(desktop === null
    ? [{ id: 'settings-phone', label: 'topics.phone', words: ['QR'] } as const]
    : desktopEntries()),
  { id: 'settings-server', label: 'settings.server', texts: ['settings.address', 'settings.version'] },
];

function desktopEntries(): readonly Entry[] {
  return [
    {
      id: 'settings-app',
      label: 'desktop.title',
      texts: [
        'desktop.notices',
        'desktop.notices.job_completed',
        'desktop.notices.job_failed',
        'desktop.notices.worker_lost',
        'desktop.atLogin',
        'desktop.runsOwn',
      ],
    },
    { id: 'settings-update', label: 'desktop.update.title', texts: ['desktop.update.check'] },
    { id: 'settings-fleets', label: 'desktop.fleets', texts: ['desktop.fleets.what', 'desktop.fleets.add'] },
  ];
}

export const networkEntries: readonly Entry[] = [
  {
    id: 'settings-network',
    label: 'settings.share',
    texts: ['settings.share.what', 'settings.unshare', 'settings.network'],
  },
  {
    id: 'settings-tls',
    label: 'settings.tls',
    texts: ['settings.tls.switch', 'settings.tls.fingerprint', 'settings.tls.pin', 'settings.tls.names'],
    words: ['HTTPS', 'SSL'],
  },
  {
    id: 'settings-public-url',
    label: 'settings.publicUrl',
    texts: ['settings.publicUrl.hint'],
    words: ['URL'],
  },
];

export const queueEntries: readonly Entry[] = [
  {
    id: 'queue-limits',
    label: 'queue.limits',
    texts: [
      'queue.limits.all',
      'queue.limits.user',
      'queue.limits.team',
      'queue.limits.localGpus',
      'queue.limits.localJobs',
      'queue.limits.fairShare',
      'queue.limits.approval',
      'queue.limits.explain',
    ],
  },
  {
    id: 'queue-cleanup',
    label: 'queue.cleanup',
    texts: ['queue.cleanup.explain', 'queue.cleanup.days'],
    call: queueApi.cleanup,
  },
  { id: 'settings-queue', label: 'queue.pause', texts: ['queue.pause.explain', 'topics.queue.page'] },
];

export const workerEntries: readonly Entry[] = [
  {
    id: 'settings-here',
    label: 'settings.here',
    texts: [
      'settings.here.turnOn',
      'settings.here.onSays',
      'settings.here.gpus',
      'settings.here.trainer',
      'settings.here.trainerHint',
    ],
  },
  {
    id: 'settings-gpu-trouble',
    label: 'gpuTrouble.title',
    texts: [
      'gpuTrouble.some',
      'gpuTrouble.missing',
      'gpuTrouble.errors',
      'gpuTrouble.held',
      'gpuTrouble.what',
    ],
  },
  {
    id: 'settings-electricity',
    label: 'electricity.title',
    texts: ['electricity.what', 'electricity.price', 'electricity.currency'],
  },
  { id: 'settings-workers', label: 'workers.join', texts: ['topics.workers.explain'] },
];

export const dataEntries: readonly Entry[] = [
  {
    id: 'settings-folders',
    label: 'settings.folders',
    texts: ['settings.folders.configs', 'settings.folders.data'],
    call: settingsApi.get,
  },
  {
    id: 'settings-backups',
    label: 'backups.title',
    texts: ['backups.what', 'backups.make', 'backups.restore'],
    call: backupApi.list,
  },
  {
    id: 'settings-retention',
    label: 'retention.title',
    texts: ['retention.days', 'retention.what'],
    call: settingsApi.get,
  },
  { id: 'settings-data', label: 'nav.data', texts: ['topics.data.explain'] },
];

export const accessEntries: readonly Entry[] = [
  {
    id: 'settings-sessions',
    label: 'sessions.title',
    texts: ['sessions.what', 'sessions.revoke', 'sessions.others'],
    call: sessionApi.list,
  },
  {
    id: 'settings-tokens',
    label: 'tokens.title',
    texts: ['tokens.what', 'tokens.add', 'tokens.revoke'],
    call: tokensApi.list,
  },
];

export const notificationEntries: readonly Entry[] = [
  { id: 'settings-push', label: 'topics.push', call: pushApi.get },
  {
    id: 'settings-notifications',
    label: 'topics.notifications',
    words: ['Discord', 'Slack', 'ntfy', 'webhook', 'e-mail', 'SMTP'],
    call: notificationsApi.listChannels,
  },
];
