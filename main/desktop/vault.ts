import { safeStorage } from 'electron';
import type { Vault } from './fleets.ts';

/** Uses the platform's keyring. Electron's fallback on Linux, `basic_text`, offers no protection. */
export const systemVault: Vault = {
  async canSeal() {
    const isReal = process.platform !== 'linux' || safeStorage.getSelectedStorageBackend() !== 'basic_text';
    return isReal && (await safeStorage.isAsyncEncryptionAvailable());
  },
  seal: async text => (await safeStorage.encryptStringAsync(text)).toString('base64'),
  unseal: async sealed => (await safeStorage.decryptStringAsync(Buffer.from(sealed, 'base64'))).result,
};
