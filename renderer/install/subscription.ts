/** Returns the subscription of this browser; null when it has none. */
export async function currentSubscription(): Promise<PushSubscription | null> {
  if (!('serviceWorker' in navigator)) return null;
  const registration = await navigator.serviceWorker.getRegistration();
  return (await registration?.pushManager.getSubscription()) ?? null;
}

/**
 * Ends the push messages of this browser without a call to the server. The server removes the subscription when the
 * push service reports that it no longer exists. Never rejects.
 */
export async function endSubscription(): Promise<void> {
  try {
    await (await currentSubscription())?.unsubscribe();
  } catch {
    // `endForeignSubscription` tries again when another user signs in.
  }
}

const key = 'trainyard.push-user';

/** Remembers whose messages this browser gets. */
export const noteSubscriber = (user: string): void => localStorage.setItem(key, user);

/** Ends the subscription of a previous user of this browser, for example one whose session has expired. */
export async function endForeignSubscription(user: string): Promise<void> {
  const subscriber = localStorage.getItem(key);
  if (subscriber === null || subscriber === user) return;
  localStorage.removeItem(key);
  await endSubscription();
}
