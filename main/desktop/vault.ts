import { safeStorage } from 'electron';
import type { Vault } from './fleets.ts';

/** The keyring of the platform. On Linux Electron has a stand-in for one, which hides a secret from nobody. */
export const systemVault: Vault = {
  async canSeal() {
    const isReal = process.platform !== 'linux' || safeStorage.getSelectedStorageBackend() !== 'basic_text';
    return isReal && (await safeStorage.isAsyncEncryptionAvailable());
  },
  seal: async text => (await safeStorage.encryptStringAsync(text)).toString('base64'),
  unseal: async sealed => (await safeStorage.decryptStringAsync(Buffer.from(sealed, 'base64'))).result,
};
