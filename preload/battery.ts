import type { Battery } from '../protocol/desktop-api.ts';

interface BatteryManager extends EventTarget, Battery {}

/** In browsers of one kind alone, and so in no list of what all have. */
interface WithBattery {
  readonly getBattery?: () => Promise<BatteryManager>;
}

/** The program behind the page is not told of it by Electron: pages are. Computers without one are always charging. */
export function tellBattery(tell: (battery: Battery) => void): void {
  const self: Navigator & WithBattery = navigator;
  void self.getBattery?.().then(battery => {
    const say = (): void => tell({ charging: battery.charging, level: battery.level });
    battery.addEventListener('chargingchange', say);
    battery.addEventListener('levelchange', say);
    say();
  });
}
