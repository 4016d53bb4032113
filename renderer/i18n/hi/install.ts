import type { InstallKey } from '../en/install.ts';

export const install: Readonly<Record<InstallKey, string>> = {
  'install.newVersion': 'पैनल का नया संस्करण उपलब्ध है।',
  'install.reload': 'फिर से लोड करें',
};
