import type { Client } from '../../protocol/client.ts';
import { pushApi } from '../../protocol/push-api.ts';
import type { NewSubscription, SubscriptionView } from '../../protocol/push.ts';
import { currentSubscription } from './subscription.ts';

/** Why this browser cannot get push messages. `possible`: it can, or only the user's permission is still missing. */
export type PushSupport = 'possible' | 'denied' | 'insecure' | 'ios' | 'unsupported';

/**
 * Safari on iPhone and iPad supports push messages only in installed apps. An iPad's user agent names a Mac, but a Mac
 * has no touch screen.
 */
const isIos = (): boolean =>
  /iPhone|iPad/.test(navigator.userAgent) ||
  (navigator.userAgent.includes('Macintosh') && navigator.maxTouchPoints > 1);

export function pushSupport(): PushSupport {
  if (!isSecureContext) return 'insecure';
  if (!('serviceWorker' in navigator) || !('PushManager' in globalThis) || !('Notification' in globalThis))
    return isIos() ? 'ios' : 'unsupported';
  return Notification.permission === 'denied' ? 'denied' : 'possible';
}

const decode = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), letter => letter.charCodeAt(0));

/** Asks for the user's permission, and subscribes at the browser's push service. Rejects when either of them refuses. */
export async function subscribeBrowser(serverKey: string): Promise<PushSubscription> {
  const registration = await navigator.serviceWorker.ready;
  const existing = await registration.pushManager.getSubscription();
  // The subscription may belong to another server that had this address before. Such a subscription gets no messages.
  const knownKey = existing?.options.applicationServerKey ?? null;
  if (existing !== null && knownKey !== null && !areEqual(new Uint8Array(knownKey), decode(serverKey)))
    await existing.unsubscribe();
  return registration.pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: decode(serverKey),
  });
}

const areEqual = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, at) => byte === b[at]);

/** Returns the address and keys to send to the server; null when the browser has no keys. */
export function detailsOf(subscription: PushSubscription): Pick<NewSubscription, 'endpoint' | 'keys'> | null {
  const { endpoint, keys } = subscription.toJSON();
  const { p256dh, auth } = keys ?? {};
  return endpoint === undefined || p256dh === undefined || auth === undefined
    ? null
    : { endpoint, keys: { p256dh, auth } };
}

/** Returns the SHA-256 of an endpoint in hex. The server identifies subscriptions by this hash. */
export async function fingerprintOf(endpoint: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(endpoint));
  return Array.from(new Uint8Array(hash), byte => byte.toString(16).padStart(2, '0')).join('');
}

const browsers = [
  [/\bEdg(?:A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
] as const;
const systems = [
  [/Android/, 'Android'],
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Windows/, 'Windows'],
  [/Macintosh/, 'Mac'],
  [/CrOS/, 'ChromeOS'],
  [/Linux/, 'Linux'],
] as const;

/** Returns a display name for a browser, such as "Firefox on Android". */
export function browserName(agent: string): string {
  const find = (names: readonly (readonly [RegExp, string])[], otherwise: string): string =>
    names.find(([pattern]) => pattern.test(agent))?.[1] ?? otherwise;
  return `${find(browsers, 'Browser')} on ${find(systems, 'another system')}`;
}

/** Ends the push messages of this browser. Rejects when the browser refuses; ignores a refusal of the server. */
export async function unsubscribeBrowser(client: Client, subscription: SubscriptionView): Promise<void> {
  await client.call(pushApi.unsubscribe, { params: { id: subscription.subscription_id } });
  await (await currentSubscription())?.unsubscribe();
}
