import type { InstallKey } from '../en/install.ts';

export const install: Readonly<Record<InstallKey, string>> = {
  'install.newVersion': 'Hay una versión nueva del panel.',
  'install.reload': 'Recargar',
};
