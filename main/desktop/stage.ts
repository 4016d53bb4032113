import { createGateway, type Gateway } from '../gateway.ts';
import type { Fleets } from './fleets.ts';
import type { Own } from './own.ts';
import type { DesktopSettingsFile } from './settings.ts';
import type { FleetLine } from './watch.ts';
import { findPanel } from '../host/built-files.ts';
import type { Shown } from './window.ts';

export interface StageDeps {
  readonly settings: DesktopSettingsFile;
  readonly fleets: Fleets;
  /** Starts or finds this computer's orchestrator at the first call. Rejects with a reason. */
  readonly openOwn: () => Promise<Own>;
}

/** The fleet in the window: this computer's own orchestrator, or a remote one through the gateway. */
export interface ActiveFleet {
  readonly shown: () => Shown | null;
  /** Returns the id of the fleet in the window; null for this computer's own. */
  readonly key: () => string | null;
  /** Returns the app's own connection to the fleet; null before one is shown. */
  readonly line: () => FleetLine | null;
  /** Shows a fleet. Resolves with null on success, otherwise with the reason. */
  show(id: string | null): Promise<string | null>;
  close(): void;
}

interface Scene {
  readonly key: string | null;
  readonly shown: Shown;
  readonly line: FleetLine;
}

export function createStage({ settings, fleets, openOwn }: StageDeps): ActiveFleet {
  let scene: Scene | null = null;
  let gateway: Gateway | null = null;
  let far: Parameters<typeof createGateway>[0]['fleet'] = () => null;

  const openGateway = async (): Promise<Gateway> => {
    const panelDir = findPanel();
    if (panelDir === null) throw new Error('The panel is not built: npm run build');
    const opened = await createGateway({ panelDir, port: settings.now.gateway_port, fleet: () => far() });
    const port = Number(new URL(opened.origin).port);
    if (port !== settings.now.gateway_port) settings.change({ gateway_port: port });
    return opened;
  };
  const showFar = async (id: string): Promise<string | null> => {
    const reached = await fleets.reach(id);
    if (!reached.ok) return reached.detail;
    gateway ??= await openGateway();
    const { origin, bearer } = gateway;
    far = () => reached.fleet;
    scene = { key: id, shown: { origin, bearer }, line: reached.fleet };
    return null;
  };
  const showOwn = async (): Promise<null> => {
    const own = await openOwn();
    scene = {
      key: null,
      shown: {
        origin: own.url,
        get bearer() {
          return own.token;
        },
      },
      line: {
        url: own.url,
        get token() {
          return own.token;
        },
      },
    };
    return null;
  };
  return {
    shown: () => scene?.shown ?? null,
    key: () => scene?.key ?? null,
    line: () => scene?.line ?? null,
    show: id => (id === null ? showOwn() : showFar(id)),
    close: () => gateway?.close(),
  };
}
