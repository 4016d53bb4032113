import type { Battery } from '../protocol/desktop-api.ts';

interface BatteryManager extends EventTarget, Battery {}

/** Only Chromium implements this API, so the standard DOM types lack it. */
interface WithBattery {
  readonly getBattery?: () => Promise<BatteryManager>;
}

/**
 * Reports the battery to the main process: Electron exposes its level to pages only. Computers without a battery always report
 * charging.
 */
export function sendBattery(tell: (battery: Battery) => void): void {
  const self: Navigator & WithBattery = navigator;
  void self.getBattery?.().then(battery => {
    const say = (): void => tell({ charging: battery.charging, level: battery.level });
    battery.addEventListener('chargingchange', say);
    battery.addEventListener('levelchange', say);
    say();
  });
}
