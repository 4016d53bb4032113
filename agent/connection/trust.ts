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
      '--pin and --ssl-no-verify contradict each other: one takes a single key for the orchestrator, the other takes anybody. ' +
        'Leave --ssl-no-verify out',
    );
  if (pins.value.length > 0 && new URL(url).protocol !== 'https:')
    return fail(
      `--pin is for https://, and ${url} is not: the token would travel unencrypted, to whoever answers there. Give the ` +
        "orchestrator's https:// address, or leave --pin out",
    );
  return { ok: true, value: { pins: pins.value, caFile, verify } };
}
