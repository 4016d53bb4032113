/** Returns the subscription of this browser; null when it has none. */
export async function currentSubscription(): Promise<PushSubscription | null> {
  if (!('serviceWorker' in navigator)) return null;
  const registration = await navigator.serviceWorker.getRegistration();
  return (await registration?.pushManager.getSubscription()) ?? null;
}

/**
 * Ends the push messages of this browser without the server, which removes the subscription when the push service no longer
 * knows it. Never rejects.
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

/** Ends a subscription that a previous user of this browser has left behind, for example with an expired session. */
export async function endForeignSubscription(user: string): Promise<void> {
  const subscriber = localStorage.getItem(key);
  if (subscriber === null || subscriber === user) return;
  localStorage.removeItem(key);
  await endSubscription();
}
