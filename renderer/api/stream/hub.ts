import type { OpenStream, StreamNews } from './news.ts';

/** What a tab says to the hub. The first `here` lets it in; those that follow are its beats. */
export type TabWord = { readonly kind: 'here'; readonly url: string } | { readonly kind: 'leave' };

/** What the hub says to a tab: `heard` for each `here`, and all that the stream tells. */
export type HubWord = { readonly kind: 'heard' } | StreamNews;

/** As much of a `MessagePort` as is needed. */
export interface TabPort {
  postMessage(word: HubWord): void;
}

interface Tab {
  heardAt: number;
}

/**
 * A tab that has been silent for so long is gone: it crashed, or the browser has put it to sleep. One that sleeps beats
 * when it wakes, and is let in anew. Timers of hidden tabs run once a minute.
 */
const silenceMs = 180_000;

export interface HubParts {
  readonly openStream: OpenStream;
  /** In milliseconds. */
  readonly now: () => number;
}

export interface Hub {
  hear(port: TabPort, word: TabWord): void;
  /** The tab is gone, as the browser says. */
  drop(port: TabPort): void;
  /** Drops the tabs that have been silent for too long. */
  sweep(): void;
}

/**
 * One stream for all tabs of a browser, open as long as there is a tab. A tab that comes later is told how the stream is;
 * it then reads what there is, which is no older than what the stream brought before it came: nothing is missed.
 */
export function createHub({ openStream, now }: HubParts): Hub {
  const tabs = new Map<TabPort, Tab>();
  let closeStream: (() => void) | null = null;
  /** The last thing that it told of itself. */
  let state: StreamNews | null = null;

  const tell = (news: StreamNews): void => {
    if (news.kind !== 'frame') state = news;
    for (const port of tabs.keys()) port.postMessage(news);
  };
  const close = (): void => {
    closeStream?.();
    closeStream = null;
    state = null;
  };
  const letIn = (port: TabPort, url: string): void => {
    tabs.set(port, { heardAt: now() });
    if (closeStream === null) closeStream = openStream(url, tell);
    else if (state !== null) port.postMessage(state);
  };
  const drop = (port: TabPort): void => {
    if (tabs.delete(port) && tabs.size === 0) close();
  };

  return {
    hear(port, word) {
      if (word.kind === 'leave') return drop(port);
      const tab = tabs.get(port);
      if (tab === undefined) letIn(port, word.url);
      else tab.heardAt = now();
      return port.postMessage({ kind: 'heard' });
    },
    drop,
    sweep() {
      for (const [port, { heardAt }] of tabs) if (now() - heardAt > silenceMs) drop(port);
    },
  };
}
