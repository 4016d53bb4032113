import type { Summary } from './summary.ts';
import type { Words } from './words/index.ts';

export interface Question {
  readonly message: string;
  readonly detail: string;
}

/** The question to confirm quitting; null when quitting stops no running job. Remote fleets are not affected. */
export function quitQuestion(
  own: { readonly isGuest: boolean; readonly summary: Summary | null } | null,
  words: Words,
): Question | null {
  const running = own === null || own.isGuest ? 0 : (own.summary?.live.size ?? 0);
  return running === 0 ? null : { message: words.quitAsk(running), detail: words.quitWhat };
}
