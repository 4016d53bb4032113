import { powerMonitor, powerSaveBlocker } from 'electron';
import type { Battery } from '../../protocol/desktop-api.ts';
import { staysAwake } from './sleep.ts';

export interface Power {
  /** Sets the number of jobs that need this computer to stay awake. */
  jobs(count: number): void;
  battery(battery: Battery): void;
  close(): void;
}

/**
 * Prevents the computer from sleeping automatically while jobs run, and reports when it resumes. The display may turn off.
 */
export function createPower(onAwoken: () => void): Power {
  let runningJobs = 0;
  let battery: Battery | null = null;
  let blocker: number | null = null;
  const decide = (): void => {
    const isWanted = staysAwake(runningJobs, { isOnBattery: powerMonitor.isOnBatteryPower(), battery });
    if (isWanted === (blocker !== null)) return;
    if (blocker === null) blocker = powerSaveBlocker.start('prevent-app-suspension');
    else {
      powerSaveBlocker.stop(blocker);
      blocker = null;
    }
  };
  powerMonitor.on('on-battery', decide);
  powerMonitor.on('on-ac', decide);
  powerMonitor.on('resume', onAwoken);
  return {
    jobs(count) {
      runningJobs = count;
      decide();
    },
    battery(now) {
      battery = now;
      decide();
    },
    close() {
      runningJobs = 0;
      decide();
      powerMonitor.off('on-battery', decide);
      powerMonitor.off('on-ac', decide);
      powerMonitor.off('resume', onAwoken);
    },
  };
}
