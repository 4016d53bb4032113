import { createPageTexts } from '../../app/page-texts.tsx';
import { queue, type QueueKey } from '../../i18n/en/queue.ts';
import type { PageTranslator } from '../../i18n/page-texts.ts';

export type QueueTranslator = PageTranslator<QueueKey>;

export const { Texts: QueueTexts, useTexts: useQueueT } = createPageTexts<QueueKey>(queue, {
  es: async () => (await import('../../i18n/es/queue.ts')).queue,
  zh: async () => (await import('../../i18n/zh/queue.ts')).queue,
  hi: async () => (await import('../../i18n/hi/queue.ts')).queue,
  ja: async () => (await import('../../i18n/ja/queue.ts')).queue,
  pseudo: async () => (await import('../../i18n/pseudo.ts')).pseudoOf(queue),
});
