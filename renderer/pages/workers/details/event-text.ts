import { workers } from '../../../i18n/en/workers.ts';
import type { Translator } from '../../../i18n/index.ts';

/** Returns the text for an audit type such as `worker.draining`. Returns the type itself if it has no text. */
export function eventText(t: Translator, type: string): string {
  const key = `workers.event.${type.replace(/^worker\./, '')}`;
  return type.startsWith('worker.') && isKey(key) ? t(key) : type;
}

const isKey = (key: string): key is keyof typeof workers => Object.hasOwn(workers, key);
