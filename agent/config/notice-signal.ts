import { constants } from 'node:os';
import { fail, type Loaded } from '../files/failure-text.ts';

/** Signals that batch systems and clouds send before they take a machine away. */
const noticeSignals = ['SIGUSR1', 'SIGALRM', 'SIGXCPU', 'SIGPWR'] as const;
export type NoticeSignal = (typeof noticeSignals)[number];

/** Signals that the worker uses for another purpose, each with the text that ends the error message. */
const reservedSignals: Readonly<Record<string, string>> = {
  SIGTERM: 'the worker then finishes its job and leaves',
  SIGINT: 'the worker then finishes its job and leaves',
  SIGHUP: 'the worker then reads its token file again',
  SIGUSR2: 'the worker then leaves, and its training continues',
};

/** Parses the name of a signal, with or without `SIG`. Null when none is given. */
export function parseNoticeSignal(text: string | null): Loaded<NoticeSignal | null> {
  if (text === null) return { ok: true, value: null };
  const name = `SIG${text.toUpperCase().replace(/^SIG/, '')}`;
  const choices = `Use one of: ${noticeSignals.map(each => each.slice(3)).join(', ')}`;
  const meaning = Object.hasOwn(reservedSignals, name) ? reservedSignals[name] : undefined;
  if (meaning !== undefined)
    return fail(
      `--notice-signal ${text} is not possible, because it has another meaning: ${meaning}. ${choices}`,
    );
  const signal = noticeSignals.find(each => each === name);
  if (signal === undefined)
    return fail(`--notice-signal ${JSON.stringify(text)} is not supported. ${choices}`);
  if (!(signal in constants.signals))
    return fail(`--notice-signal ${text} is not possible: this system has no such signal`);
  return { ok: true, value: signal };
}
