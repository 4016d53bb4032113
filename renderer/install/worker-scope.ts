/** Types for the global object of a service worker. TypeScript's `dom` library lacks them. */

interface Extendable extends Event {
  waitUntil(work: Promise<unknown>): void;
}

interface FetchEvent extends Extendable {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}

export interface PushEvent extends Extendable {
  readonly data: { json(): unknown } | null;
}

interface NotificationEvent extends Extendable {
  readonly notification: Notification;
}

export interface WindowClient {
  focus(): Promise<unknown>;
  navigate(url: string): Promise<unknown>;
}

export interface Scope {
  readonly location: Location;
  readonly registration: ServiceWorkerRegistration;
  readonly clients: {
    claim(): Promise<void>;
    matchAll(options: object): Promise<readonly WindowClient[]>;
    openWindow(url: string): Promise<unknown>;
  };
  skipWaiting(): Promise<void>;
  addEventListener(type: 'install' | 'activate', listener: (event: Extendable) => void): void;
  addEventListener(type: 'fetch', listener: (event: FetchEvent) => void): void;
  addEventListener(type: 'push', listener: (event: PushEvent) => void): void;
  addEventListener(type: 'notificationclick', listener: (event: NotificationEvent) => void): void;
}
