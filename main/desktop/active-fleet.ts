import { createGateway, type Gateway } from '../gateway.ts';
import type { Fleets } from './fleets.ts';
import type { OwnOrchestrator } from './own.ts';
import type { DesktopSettingsFile } from './settings.ts';
import type { FleetConnection } from './watch.ts';
import { findPanel } from '../host/built-files.ts';
import type { Shown } from './window.ts';

export interface ActiveFleetDeps {
  readonly settings: DesktopSettingsFile;
  readonly fleets: Fleets;
  /** Finds or starts this computer's orchestrator on the first call. Rejects with a reason. */
  readonly openOwn: () => Promise<OwnOrchestrator>;
}

/** The fleet in the window: this computer's own orchestrator, or a remote orchestrator through the gateway. */
export interface ActiveFleet {
  readonly shown: () => Shown | null;
  /** Returns the id of the fleet in the window; null for this computer's own. */
  readonly key: () => string | null;
  /** Returns the app's own connection to the fleet; null before the window shows a fleet. */
  readonly connection: () => FleetConnection | null;
  /** Shows a fleet. Resolves with null on success, otherwise with the reason. */
  show(id: string | null): Promise<string | null>;
  close(): void;
}

interface ShownFleet {
  readonly key: string | null;
  readonly shown: Shown;
  readonly connection: FleetConnection;
}

export function createActiveFleet({ settings, fleets, openOwn }: ActiveFleetDeps): ActiveFleet {
  let current: ShownFleet | null = null;
  let gateway: Gateway | null = null;
  let remoteFleet: Parameters<typeof createGateway>[0]['fleet'] = () => null;

  const openGateway = async (): Promise<Gateway> => {
    const panelDir = findPanel();
    if (panelDir === null) throw new Error('The panel is not built: npm run build');
    const opened = await createGateway({
      panelDir,
      port: settings.now.gateway_port,
      fleet: () => remoteFleet(),
    });
    const port = Number(new URL(opened.origin).port);
    if (port !== settings.now.gateway_port) settings.change({ gateway_port: port });
    return opened;
  };
  const showRemote = async (id: string): Promise<string | null> => {
    const reached = await fleets.reach(id);
    if (!reached.ok) return reached.detail;
    gateway ??= await openGateway();
    const { origin, bearer } = gateway;
    remoteFleet = () => reached.fleet;
    current = { key: id, shown: { origin, bearer }, connection: reached.fleet };
    return null;
  };
  const showOwn = async (): Promise<null> => {
    const ownFleet = await openOwn();
    current = {
      key: null,
      shown: {
        origin: ownFleet.url,
        get bearer() {
          return ownFleet.token;
        },
      },
      connection: {
        url: ownFleet.url,
        get token() {
          return ownFleet.token;
        },
      },
    };
    return null;
  };
  return {
    shown: () => current?.shown ?? null,
    key: () => current?.key ?? null,
    connection: () => current?.connection ?? null,
    show: id => (id === null ? showOwn() : showRemote(id)),
    close: () => gateway?.close(),
  };
}
