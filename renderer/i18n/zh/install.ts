import type { InstallKey } from '../en/install.ts';

export const install: Readonly<Record<InstallKey, string>> = {
  'install.newVersion': '面板有新版本。',
  'install.reload': '重新加载',
};
