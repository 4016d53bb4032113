import type { HubWord, TabWord } from './hub.ts';
import type { OpenStream } from './news.ts';

/** The way to the hub, as a tab has it. */
export interface HubLine {
  post(word: TabWord): void;
  close(): void;
}

export interface SharedParts {
  /** `onBroken`: there is no hub at the other end, and there will be none. Throws where the browser allows none. */
  readonly connect: (onWord: (word: HubWord) => void, onBroken: () => void) => HubLine;
  /** What takes the hub's place when it does not answer. */
  readonly openOwn: OpenStream;
  /** Where `pagehide` and `pageshow` come from. */
  readonly page: EventTarget;
}

const beatMs = 10_000;
/** The hub answers each beat at once: after so many without an answer it is dead. */
const mostUnanswered = 2;
/**
 * A hub that has not answered by then will not. A browser tells of a script that can not be had, but not always: not to a
 * page that comes while the worker of the page before is failing.
 */
const firstAnswerMs = 5_000;

/**
 * The stream that all tabs of this browser share. A page that is put aside leaves it, so that it holds nothing up, and comes
 * back when it is shown again. Without a hub the tab has a stream of its own.
 */
export const sharedStream =
  ({ connect, openOwn, page }: SharedParts): OpenStream =>
  (url, tell) => {
    let line: HubLine | null = null;
    let closeOwn: (() => void) | null = null;
    let beat: ReturnType<typeof setInterval> | undefined;
    let firstAnswer: ReturnType<typeof setTimeout> | undefined;
    let unanswered = 0;

    const leave = (): void => {
      clearInterval(beat);
      clearTimeout(firstAnswer);
      line?.post({ kind: 'leave' });
      line?.close();
      line = null;
    };
    const goAlone = (): void => {
      closeOwn ??= openOwn(url, tell);
    };
    const giveUp = (): void => {
      if (line === null) return;
      leave();
      tell({ kind: 'lost' });
      goAlone();
    };
    const sayHere = (): void => {
      if (unanswered === mostUnanswered) return giveUp();
      unanswered += 1;
      return line?.post({ kind: 'here', url });
    };
    const hear = (word: HubWord): void => {
      unanswered = 0;
      clearTimeout(firstAnswer);
      if (word.kind !== 'heard' && line !== null) tell(word);
    };
    const join = (): void => {
      if (line !== null || closeOwn !== null) return;
      unanswered = 0;
      try {
        line = connect(hear, giveUp);
      } catch {
        return goAlone();
      }
      beat = setInterval(sayHere, beatMs);
      firstAnswer = setTimeout(giveUp, firstAnswerMs);
      return sayHere();
    };
    const putAside = (): void => {
      if (line === null) return;
      leave();
      tell({ kind: 'lost' });
    };

    page.addEventListener('pagehide', putAside);
    page.addEventListener('pageshow', join);
    join();
    return () => {
      page.removeEventListener('pagehide', putAside);
      page.removeEventListener('pageshow', join);
      leave();
      closeOwn?.();
    };
  };
