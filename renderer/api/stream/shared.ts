import type { OpenStream, StreamMessage } from './own.ts';

/** Messages from a tab to the hub. The first `here` registers the tab; each later `here` is a heartbeat. */
export type TabMessage = { readonly kind: 'here'; readonly url: string } | { readonly kind: 'leave' };

/** Messages from the hub to a tab. `heard` acknowledges a `here`; all others come from the stream. */
export type HubMessage = { readonly kind: 'heard' } | StreamMessage;

/** The part of `MessagePort` that the hub uses. */
export interface TabPort {
  postMessage(message: HubMessage): void;
}

interface Tab {
  lastSeenAt: number;
}

/**
 * After this much silence, the hub drops a tab: it has crashed, or the browser has suspended it. A suspended tab
 * registers again with its first heartbeat after it wakes. The time is long because timers of hidden tabs run only once
 * a minute.
 */
const silenceMs = 180_000;

export interface HubDeps {
  readonly openStream: OpenStream;
  /** Returns the current time in milliseconds. */
  readonly now: () => number;
}

export interface Hub {
  receive(port: TabPort, message: TabMessage): void;
  /** Removes a tab that the browser reports as closed. */
  drop(port: TabPort): void;
  /** Removes tabs that have been silent for too long. */
  sweep(): void;
}

/**
 * Creates the hub that shares one event stream among all tabs of a browser. The stream is open while there is at least
 * one tab. A new tab first receives the state of the stream. It then reads the current data, which includes all earlier
 * events, so it misses nothing.
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
  /**
   * Connects to the hub. Calls `onBroken` when the hub cannot start, now or later. Throws where the browser supports no
   * hub.
   */
  readonly connect: (onMessage: (message: HubMessage) => void, onBroken: () => void) => HubConnection;
  /** Fallback when the hub does not answer. */
  readonly openOwn: OpenStream;
  /** The target of `pagehide` and `pageshow` events. */
  readonly page: EventTarget;
}

const heartbeatMs = 10_000;
/**
 * The hub acknowledges each heartbeat immediately. After this many missing acknowledgements, the tab treats the hub as
 * dead.
 */
const maxUnanswered = 2;
/**
 * A hub that has not answered within this time has failed to start. Browsers usually report such a failure with an error
 * event. They may not if the `SharedWorker` of the previous page is still failing when this page opens.
 */
const firstAnswerMs = 5_000;

/**
 * Follows the stream that all tabs of this browser share. A page in the browser's back/forward cache leaves the hub,
 * and joins again when it is shown. When the hub fails, the tab opens its own stream.
 */
export const sharedStream =
  ({ connect, openOwn, page }: SharedDeps): OpenStream =>
  (url, notify) => {
    let hub: HubConnection | null = null;
    let closeOwn: (() => void) | null = null;
    let heartbeatTimer: ReturnType<typeof setInterval> | undefined;
    let firstAnswer: ReturnType<typeof setTimeout> | undefined;
    let unanswered = 0;

    const leave = (): void => {
      clearInterval(heartbeatTimer);
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
      heartbeatTimer = setInterval(sendHeartbeat, heartbeatMs);
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
