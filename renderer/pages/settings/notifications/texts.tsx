import { createPageTexts } from '../../../app/page-texts.tsx';
import { type NotificationKey, notifications } from '../../../i18n/en/notifications.ts';

export const { Texts: NotificationTexts, useTexts: useNotifyT } = createPageTexts<NotificationKey>(
  notifications,
  {
    es: async () => (await import('../../../i18n/es/notifications.ts')).notifications,
    zh: async () => (await import('../../../i18n/zh/notifications.ts')).notifications,
    hi: async () => (await import('../../../i18n/hi/notifications.ts')).notifications,
    ja: async () => (await import('../../../i18n/ja/notifications.ts')).notifications,
    pseudo: async () => (await import('../../../i18n/pseudo.ts')).pseudoOf(notifications),
  },
);
