import type { Battery } from '../../protocol/desktop-api.ts';

/** Below it the battery counts for more than the jobs: a computer that sleeps loses less than one that goes out. */
const lowLevel = 0.2;

/** Whether the computer is kept from falling asleep by itself. A battery that says nothing is taken for a full one. */
export const staysAwake = (
  runningJobs: number,
  { isOnBattery, battery }: { readonly isOnBattery: boolean; readonly battery: Battery | null },
): boolean => {
  const isLow = battery !== null && !battery.charging && battery.level <= lowLevel;
  return runningJobs > 0 && !(isOnBattery && isLow);
};
