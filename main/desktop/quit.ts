import type { Summary } from './summary.ts';
import type { Words } from './words/index.ts';

export interface Question {
  readonly message: string;
  readonly detail: string;
}

/** What is asked before the app quits; null when that changes nothing for anybody. Another fleet goes on as it is. */
export function quitQuestion(
  own: { readonly isGuest: boolean; readonly summary: Summary | null } | null,
  words: Words,
): Question | null {
  const running = own === null || own.isGuest ? 0 : (own.summary?.live.size ?? 0);
  return running === 0 ? null : { message: words.quitAsk(running), detail: words.quitWhat };
}
