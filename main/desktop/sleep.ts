import type { Battery } from '../../protocol/desktop-api.ts';

/** At or below this level, saving the battery has priority: a sleeping computer loses less than one that shuts down. */
const lowLevel = 0.2;

/** Whether to prevent automatic sleep. A battery with unknown level counts as full. */
export const staysAwake = (
  runningJobs: number,
  { isOnBattery, battery }: { readonly isOnBattery: boolean; readonly battery: Battery | null },
): boolean => {
  const isLow = battery !== null && !battery.charging && battery.level <= lowLevel;
  return runningJobs > 0 && !(isOnBattery && isLow);
};
