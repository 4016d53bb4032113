import type { InstallKey } from '../en/install.ts';

export const install: Readonly<Record<InstallKey, string>> = {
  'install.newVersion': 'パネルの新しいバージョンがあります。',
  'install.reload': '再読み込み',
};
