import type { settings as source } from '../en/settings.ts';

export const settings: Readonly<Record<keyof typeof source, string>> = {
  'settings.looks': 'यह ब्राउज़र',
  'settings.theme': 'थीम',
  'settings.theme.system': 'सिस्टम जैसी',
  'settings.theme.light': 'हल्की',
  'settings.theme.dark': 'गहरी',
  'settings.language': 'भाषा',
  'settings.server': 'ऑर्केस्ट्रेटर',
  'settings.address': 'पता:',
  'settings.version': 'संस्करण:',
};
