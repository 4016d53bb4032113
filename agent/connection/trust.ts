import { fail, type Loaded } from '../files/loaded.ts';
import { parsePins, type Pin } from './pins.ts';

/** Which server to accept as the orchestrator over TLS. */
export interface Trust {
  /**
   * Accepted keys. With pins, only the key and the certificate's dates count. Without pins, an authority must vouch for the
   * certificate.
   */
  readonly pins: readonly Pin[];
  /** An authority in addition to those of Node and the system. */
  readonly caFile: string | null;
  /** False accepts any server. */
  readonly verify: boolean;
}

export const usualTrust: Trust = { pins: [], caFile: null, verify: true };

/** Parses the given settings. Fails for settings that contradict each other, or that would not protect the connection. */
export function parseTrust(
  url: string,
  given: Omit<Trust, 'pins'> & { readonly pin: unknown },
): Loaded<Trust> {
  const { pin, caFile, verify } = given;
  const pins = parsePins(pin);
  if (!pins.ok) return pins;
  if (pins.value.length > 0 && !verify)
    return fail(
      '--pin and --ssl-no-verify contradict each other: one accepts a single key, the other any server. Remove --ssl-no-verify',
    );
  if (pins.value.length > 0 && new URL(url).protocol !== 'https:')
    return fail(
      `--pin is for https://, but ${url} would get the token unencrypted. Use the https:// URL of the orchestrator, or remove --pin`,
    );
  return { ok: true, value: { pins: pins.value, caFile, verify } };
}
