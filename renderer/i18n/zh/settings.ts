import type { settings as source } from '../en/settings.ts';

export const settings: Readonly<Record<keyof typeof source, string>> = {
  'settings.looks': '此浏览器',
  'settings.theme': '主题',
  'settings.theme.system': '跟随系统',
  'settings.theme.light': '浅色',
  'settings.theme.dark': '深色',
  'settings.language': '语言',
  'settings.server': '调度服务器',
  'settings.address': '地址：',
  'settings.version': '版本：',
};
