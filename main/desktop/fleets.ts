import { randomBytes } from 'node:crypto';
import type { DesktopView, FleetChange, NewFleet } from '../../protocol/desktop-api.ts';
import { type RemoteFleet, parseFleetAddress } from '../gateway.ts';
import type { DesktopSettingsFile, StoredFleet } from './settings.ts';

/** Encrypts secrets so that only this user can decrypt them, as far as the platform can. */
export interface Vault {
  readonly canSeal: () => Promise<boolean>;
  readonly seal: (text: string) => Promise<string>;
  /** Decrypts a sealed text. Rejects if another user or computer sealed it. */
  readonly unseal: (sealed: string) => Promise<string>;
}

type ChangeResult =
  | { readonly ok: true; readonly id: string }
  | { readonly ok: false; readonly detail: string };

type FleetResult =
  | { readonly ok: true; readonly fleet: RemoteFleet }
  | { readonly ok: false; readonly detail: string };

/** Manages the remote orchestrators in the app's settings. */
export function createFleets(file: DesktopSettingsFile, vault: Vault) {
  const find = (id: string): StoredFleet | undefined => file.now.fleets.find(fleet => fleet.id === id);
  const toStoredToken = async (token: string): Promise<StoredFleet['token']> =>
    (await vault.canSeal())
      ? { kept: 'sealed', text: await vault.seal(token) }
      : { kept: 'plain', text: token };
  const readToken = async ({ kept, text }: StoredFleet['token']): Promise<string> =>
    kept === 'sealed' ? vault.unseal(text) : text;
  const write = (fleets: readonly StoredFleet[], id: string): ChangeResult => {
    const failure = file.change({ fleets: [...fleets] });
    return failure === null ? { ok: true, id } : { ok: false, detail: failure.message };
  };
  return {
    list: (): DesktopView['fleets'] =>
      file.now.fleets.map(({ token, ...fleet }) => ({ ...fleet, token: token.kept })),
    name: (id: string): string | null => find(id)?.name ?? null,
    has: (id: string): boolean => find(id) !== undefined,
    async add({ name, url, token, pin }: NewFleet): Promise<ChangeResult> {
      const address = parseFleetAddress({ url, pin: pin === '' ? null : pin });
      if (!address.ok) return address;
      const id = `f_${randomBytes(5).toString('hex')}`;
      const fleet = {
        id,
        name,
        url: address.value.url,
        pin: pin === '' ? null : pin,
        token: await toStoredToken(token),
      };
      return write([...file.now.fleets, fleet], id);
    },
    async change({ id, token, ...change }: FleetChange): Promise<ChangeResult> {
      const stored = find(id);
      if (stored === undefined) return { ok: false, detail: 'This fleet no longer exists' };
      const next = { ...stored, ...change };
      const pin = next.pin === '' ? null : next.pin;
      const address = parseFleetAddress({ url: next.url, pin });
      if (!address.ok) return address;
      // A token must only be sent to the orchestrator for which the user entered it.
      if (address.value.url !== stored.url && token === undefined)
        return { ok: false, detail: 'Enter the token again, because the address has changed' };
      const changed = {
        ...next,
        pin,
        url: address.value.url,
        token: token === undefined ? stored.token : await toStoredToken(token),
      };
      return write(
        file.now.fleets.map(fleet => (fleet.id === id ? changed : fleet)),
        id,
      );
    },
    remove: (id: string): ChangeResult =>
      write(
        file.now.fleets.filter(fleet => fleet.id !== id),
        id,
      ),
    /** Returns the connection data of a fleet. Fails with `detail` if the token cannot be decrypted or the address is invalid. */
    async reach(id: string): Promise<FleetResult> {
      const stored = find(id);
      if (stored === undefined) return { ok: false, detail: 'This fleet no longer exists' };
      const address = parseFleetAddress(stored);
      if (!address.ok) return address;
      try {
        return { ok: true, fleet: { ...address.value, token: await readToken(stored.token) } };
      } catch {
        return {
          ok: false,
          detail: `The token of ${stored.name} cannot be decrypted on this computer: enter it again`,
        };
      }
    },
  };
}

export type Fleets = ReturnType<typeof createFleets>;
