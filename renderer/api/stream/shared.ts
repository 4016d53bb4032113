import type { HubWord, TabWord } from './hub.ts';
import type { OpenStream } from './news.ts';

/** A tab's connection to the hub. */
export interface HubLine {
  post(word: TabWord): void;
  close(): void;
}

export interface SharedDeps {
  /** Connects to the hub. `onBroken`: there is no hub, and there will be none. Throws where the browser does not allow one. */
  readonly connect: (onWord: (word: HubWord) => void, onBroken: () => void) => HubLine;
  /** Fallback when the hub does not answer. */
  readonly openOwn: OpenStream;
  /** The target of `pagehide` and `pageshow` events. */
  readonly page: EventTarget;
}

const beatMs = 10_000;
/** The hub acknowledges each heartbeat at once; after this many missing replies it is dead. */
const maxUnanswered = 2;
/**
 * If the hub has not answered by then, it never will. Browsers usually report a script that fails to load. They may not report it to a page
 * that opens while the previous page's worker is still failing.
 */
const firstAnswerMs = 5_000;

/**
 * The stream that all tabs of this browser share. A page that the browser caches leaves the hub, and rejoins when it is shown again.
 * Without a hub, the tab opens its own stream.
 */
export const sharedStream =
  ({ connect, openOwn, page }: SharedDeps): OpenStream =>
  (url, tell) => {
    let line: HubLine | null = null;
    let closeOwn: (() => void) | null = null;
    let pingTimer: ReturnType<typeof setInterval> | undefined;
    let firstAnswer: ReturnType<typeof setTimeout> | undefined;
    let unanswered = 0;

    const leave = (): void => {
      clearInterval(pingTimer);
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
      if (unanswered === maxUnanswered) return giveUp();
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
      pingTimer = setInterval(sayHere, beatMs);
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
