import type { OpenStream, StreamMessage } from './own.ts';

/** Messages from a tab to the hub. The first `here` registers the tab; later ones are its heartbeats. */
export type TabMessage = { readonly kind: 'here'; readonly url: string } | { readonly kind: 'leave' };

/** Messages from the hub to a tab: `heard` acknowledges each `here`; the others come from the stream. */
export type HubMessage = { readonly kind: 'heard' } | StreamMessage;

/** The part of `MessagePort` that the hub uses. */
export interface TabPort {
  postMessage(message: HubMessage): void;
}

interface Tab {
  lastSeenAt: number;
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
  receive(port: TabPort, message: TabMessage): void;
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
  let state: StreamMessage | null = null;

  const notify = (message: StreamMessage): void => {
    if (message.kind !== 'frame') state = message;
    for (const port of tabs.keys()) port.postMessage(message);
  };
  const close = (): void => {
    closeStream?.();
    closeStream = null;
    state = null;
  };
  const addTab = (port: TabPort, url: string): void => {
    tabs.set(port, { lastSeenAt: now() });
    if (closeStream === null) closeStream = openStream(url, notify);
    else if (state !== null) port.postMessage(state);
  };
  const drop = (port: TabPort): void => {
    if (tabs.delete(port) && tabs.size === 0) close();
  };

  return {
    receive(port, message) {
      if (message.kind === 'leave') return drop(port);
      const tab = tabs.get(port);
      if (tab === undefined) addTab(port, message.url);
      else tab.lastSeenAt = now();
      return port.postMessage({ kind: 'heard' });
    },
    drop,
    sweep() {
      for (const [port, { lastSeenAt }] of tabs) if (now() - lastSeenAt > silenceMs) drop(port);
    },
  };
}

/** A tab's connection to the hub. */
export interface HubConnection {
  post(message: TabMessage): void;
  close(): void;
}

export interface SharedDeps {
  /** Connects to the hub. `onBroken`: there is no hub, and there will be none. Throws where the browser does not allow one. */
  readonly connect: (onMessage: (message: HubMessage) => void, onBroken: () => void) => HubConnection;
  /** Fallback when the hub does not answer. */
  readonly openOwn: OpenStream;
  /** The target of `pagehide` and `pageshow` events. */
  readonly page: EventTarget;
}

const heartbeatMs = 10_000;
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
  (url, notify) => {
    let hub: HubConnection | null = null;
    let closeOwn: (() => void) | null = null;
    let pingTimer: ReturnType<typeof setInterval> | undefined;
    let firstAnswer: ReturnType<typeof setTimeout> | undefined;
    let unanswered = 0;

    const leave = (): void => {
      clearInterval(pingTimer);
      clearTimeout(firstAnswer);
      hub?.post({ kind: 'leave' });
      hub?.close();
      hub = null;
    };
    const openAlone = (): void => {
      closeOwn ??= openOwn(url, notify);
    };
    const giveUp = (): void => {
      if (hub === null) return;
      leave();
      notify({ kind: 'lost' });
      openAlone();
    };
    const sendHeartbeat = (): void => {
      if (unanswered === maxUnanswered) return giveUp();
      unanswered += 1;
      return hub?.post({ kind: 'here', url });
    };
    const receive = (message: HubMessage): void => {
      unanswered = 0;
      clearTimeout(firstAnswer);
      if (message.kind !== 'heard' && hub !== null) notify(message);
    };
    const join = (): void => {
      if (hub !== null || closeOwn !== null) return;
      unanswered = 0;
      try {
        hub = connect(receive, giveUp);
      } catch {
        return openAlone();
      }
      pingTimer = setInterval(sendHeartbeat, heartbeatMs);
      firstAnswer = setTimeout(giveUp, firstAnswerMs);
      return sendHeartbeat();
    };
    const suspend = (): void => {
      if (hub === null) return;
      leave();
      notify({ kind: 'lost' });
    };

    page.addEventListener('pagehide', suspend);
    page.addEventListener('pageshow', join);
    join();
    return () => {
      page.removeEventListener('pagehide', suspend);
      page.removeEventListener('pageshow', join);
      leave();
      closeOwn?.();
    };
  };
