import { fail, type Loaded } from './loaded.ts';
import { parsePins, type Pin } from './pins.ts';

/** Whom to take for the orchestrator, over TLS. */
export interface Trust {
  /** The keys that it may have: with any, nothing else counts but the dates of its certificate. None: its certificate has to be vouched for. */
  readonly pins: readonly Pin[];
  /** An authority beside those of Node and the system. */
  readonly caFile: string | null;
  /** False takes anybody for it. */
  readonly verify: boolean;
}

export const usualTrust: Trust = { pins: [], caFile: null, verify: true };

/** From settings as they were given; what contradicts itself, or would not protect, is refused. */
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
