import { randomBytes } from 'node:crypto';
import type { DesktopView, FleetChange, NewFleet } from '../../protocol/desktop-api.ts';
import { type FarFleet, parseFleetAddress } from '../gateway.ts';
import type { DesktopSettingsFile, KeptFleet } from './settings.ts';

/** Encrypts secrets so that only this user can decrypt them, as far as the platform can. */
export interface Vault {
  readonly canSeal: () => Promise<boolean>;
  readonly seal: (text: string) => Promise<string>;
  /** Decrypts a sealed text. Rejects if another user or computer sealed it. */
  readonly unseal: (sealed: string) => Promise<string>;
}

type Done = { readonly ok: true; readonly id: string } | { readonly ok: false; readonly detail: string };

type Reached =
  | { readonly ok: true; readonly fleet: FarFleet }
  | { readonly ok: false; readonly detail: string };

/** Manages the remote orchestrators in the app's settings. */
export function createFleets(file: DesktopSettingsFile, vault: Vault) {
  const find = (id: string): KeptFleet | undefined => file.now.fleets.find(fleet => fleet.id === id);
  const keepToken = async (token: string): Promise<KeptFleet['token']> =>
    (await vault.canSeal())
      ? { kept: 'sealed', text: await vault.seal(token) }
      : { kept: 'plain', text: token };
  const readToken = async ({ kept, text }: KeptFleet['token']): Promise<string> =>
    kept === 'sealed' ? vault.unseal(text) : text;
  const write = (fleets: readonly KeptFleet[], id: string): Done => {
    const failure = file.change({ fleets: [...fleets] });
    return failure === null ? { ok: true, id } : { ok: false, detail: failure.message };
  };
  return {
    list: (): DesktopView['fleets'] =>
      file.now.fleets.map(({ token, ...fleet }) => ({ ...fleet, token: token.kept })),
    name: (id: string): string | null => find(id)?.name ?? null,
    has: (id: string): boolean => find(id) !== undefined,
    async add({ name, url, token, pin }: NewFleet): Promise<Done> {
      const address = parseFleetAddress({ url, pin: pin === '' ? null : pin });
      if (!address.ok) return address;
      const id = `f_${randomBytes(5).toString('hex')}`;
      const kept = {
        id,
        name,
        url: address.value.url,
        pin: pin === '' ? null : pin,
        token: await keepToken(token),
      };
      return write([...file.now.fleets, kept], id);
    },
    async change({ id, token, ...change }: FleetChange): Promise<Done> {
      const was = find(id);
      if (was === undefined) return { ok: false, detail: 'There is no such fleet any more' };
      const next = { ...was, ...change };
      const pin = next.pin === '' ? null : next.pin;
      const address = parseFleetAddress({ url: next.url, pin });
      if (!address.ok) return address;
      // A token must not be sent to another orchestrator than the one for which the user gave it.
      if (address.value.url !== was.url && token === undefined)
        return { ok: false, detail: 'Another address needs its token: give that, too' };
      const kept = {
        ...next,
        pin,
        url: address.value.url,
        token: token === undefined ? was.token : await keepToken(token),
      };
      return write(
        file.now.fleets.map(fleet => (fleet.id === id ? kept : fleet)),
        id,
      );
    },
    remove: (id: string): Done =>
      write(
        file.now.fleets.filter(fleet => fleet.id !== id),
        id,
      ),
    /** Returns the connection data of a fleet. Fails with `detail` when the token cannot be decrypted or the address is invalid. */
    async reach(id: string): Promise<Reached> {
      const kept = find(id);
      if (kept === undefined) return { ok: false, detail: 'There is no such fleet any more' };
      const address = parseFleetAddress(kept);
      if (!address.ok) return address;
      try {
        return { ok: true, fleet: { ...address.value, token: await readToken(kept.token) } };
      } catch {
        return {
          ok: false,
          detail: `The token of ${kept.name} cannot be unsealed on this computer: give it again`,
        };
      }
    },
  };
}

export type Fleets = ReturnType<typeof createFleets>;
