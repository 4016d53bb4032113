import { existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { makeFolder, readSecret } from '../data-folder.ts';
import { draftOf, writeWhole } from '../whole-file.ts';
import { type Certificates, type CertificateDeps, expiresSoonMs, type Why } from './certificates.ts';
import { type Identity, identityOf } from './identity.ts';
import { checkKey, makeCertificate, makeKey } from './make-certificate.ts';

/** A machine that joins another network gets a new address, which clients use at once. */
const lookEveryMs = 10_000;

export interface OwnCertificateDeps extends CertificateDeps {
  /** `DATA/tls`; created when missing, accessible only to its owner. */
  readonly folder: string;
  /** Current names and addresses of the machine, in lower case. */
  readonly names: () => readonly string[];
}

/**
 * Certificate that the orchestrator makes itself. The key never changes, so pins of it stay valid across certificates. A new
 * certificate is made before the old one expires, or when the machine has a name that it lacks. Surplus names stay: otherwise
 * unplugging and replugging a cable would make two certificates.
 */
export function createOwnCertificate(parts: OwnCertificateDeps): Certificates {
  const { folder, clock, log, names, onChange, note } = parts;
  const keyFile = join(folder, 'key.pem');
  const certificateFile = join(folder, 'cert.pem');
  let shown: Identity | null = null;
  let cancelTimer = (): void => {};
  let isStopped = false;
  let hasFailed = false;

  const renew = async (key: string, why: Why): Promise<Identity> => {
    const certificate = await makeCertificate(key, certifiable(names()), clock.wall());
    const next = identityOf('own', key, certificate);
    const draft = draftOf(certificateFile, certificate);
    try {
      await note(next, why);
    } catch (cause) {
      draft.drop();
      throw cause;
    }
    draft.keep();
    return next;
  };
  const renewOnce = async (): Promise<void> => {
    if (shown === null) return;
    const why = whyRenew(shown, certifiable(names()), clock.wall());
    if (why === null) return;
    try {
      shown = await renew(shown.key, why);
      hasFailed = false;
      onChange(shown);
    } catch (cause) {
      if (!hasFailed) log.warn('tls.not_renewed', { why, cause });
      hasFailed = true;
    }
  };
  let last = Promise.resolve();
  /** One at a time: concurrent runs would make one certificate each. */
  const renewIfNeeded = (): Promise<void> => (last = last.then(renewOnce));
  const first = async (key: string): Promise<Identity> => {
    const made = await renew(key, 'made');
    onChange(made);
    return made;
  };
  const scheduleCheck = (): void => {
    if (!isStopped) cancelTimer = clock.after(lookEveryMs, () => void renewIfNeeded().then(scheduleCheck));
  };
  return {
    get shown() {
      return shown;
    },
    async open() {
      if (shown !== null) return shown;
      makeFolder(folder);
      const key = keyIn(keyFile);
      const kept = existsSync(certificateFile) ? keptIn(certificateFile, key) : null;
      shown = kept ?? (await first(key));
      await renewIfNeeded();
      if (shown.expiresAt <= clock.wall()) {
        shown = null;
        throw new Error(
          `${certificateFile} has expired, and no new one could be created. The log has the cause`,
        );
      }
      if (shown === kept) onChange(shown);
      scheduleCheck();
      return shown;
    },
    refresh: renewIfNeeded,
    stop() {
      isStopped = true;
      cancelTimer();
    },
  };
}

function whyRenew(
  { names, expiresAt, validFrom }: Identity,
  wanted: readonly string[],
  now: number,
): Why | null {
  // A start date in the future comes from a clock that was wrong.
  if (expiresAt - now < expiresSoonMs || validFrom > now) return 'expiring';
  return wanted.every(name => names.includes(name)) ? null : 'names';
}

/** Drops names that certificates cannot contain; owners can name their machines freely. */
const certifiable = (names: readonly string[]): readonly string[] =>
  names.filter(name => isIP(name) !== 0 || /^(?=.{1,253}$)[a-z\d_](?:[a-z\d_.-]*[a-z\d_])?$/.test(name));

function keyIn(file: string): string {
  if (!existsSync(file)) writeWhole(file, makeKey());
  const key = `${readSecret(file)}\n`;
  try {
    checkKey(key);
  } catch (cause) {
    throw new Error(
      `${file} is not the key that was made: put it back from a copy, or delete it, and the next start makes a new one, which ` +
        'workers with the old pin refuse',
      { cause },
    );
  }
  return key;
}

/** Returns null for an unreadable certificate or one of another key. A new one costs nothing, and the pin stays. */
function keptIn(file: string, key: string): Identity | null {
  try {
    return identityOf('own', key, readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}
