import type { settings as source } from '../en/settings.ts';

export const settings: Readonly<Record<keyof typeof source, string>> = {
  'settings.looks': 'このブラウザー',
  'settings.theme': 'テーマ',
  'settings.theme.system': 'システムに合わせる',
  'settings.theme.light': 'ライト',
  'settings.theme.dark': 'ダーク',
  'settings.language': '言語',
  'settings.server': 'オーケストレーター',
  'settings.address': 'アドレス:',
  'settings.version': 'バージョン:',
};
