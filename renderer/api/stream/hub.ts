import type { OpenStream, StreamNews } from './news.ts';

/** Messages from a tab to the hub. The first `here` registers the tab; later ones are its heartbeats. */
export type TabWord = { readonly kind: 'here'; readonly url: string } | { readonly kind: 'leave' };

/** Messages from the hub to a tab: `heard` acknowledges each `here`; the others come from the stream. */
export type HubWord = { readonly kind: 'heard' } | StreamNews;

/** The part of `MessagePort` that the hub uses. */
export interface TabPort {
  postMessage(word: HubWord): void;
}

interface Tab {
  heardAt: number;
}

/**
 * A tab that is silent for this long counts as gone: it crashed, or the browser suspended it. A suspended tab sends a heartbeat when it
 * wakes and is registered again. Timers of hidden tabs run only once a minute.
 */
const silenceMs = 180_000;

export interface HubDeps {
  readonly openStream: OpenStream;
  /** In milliseconds. */
  readonly now: () => number;
}

export interface Hub {
  hear(port: TabPort, word: TabWord): void;
  /** The browser reports that the tab is gone. */
  drop(port: TabPort): void;
  /** Drops tabs that have been silent for too long. */
  sweep(): void;
}

/**
 * Shares one stream among all tabs of a browser, open while there is a tab. A new tab first gets the stream's state. It then reads the
 * current data, which is at least as new as all earlier events, so it misses nothing.
 */
export function createHub({ openStream, now }: HubDeps): Hub {
  const tabs = new Map<TabPort, Tab>();
  let closeStream: (() => void) | null = null;
  /** The stream's last state message. */
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
