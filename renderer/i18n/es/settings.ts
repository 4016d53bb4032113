import type { settings as source } from '../en/settings.ts';

export const settings: Readonly<Record<keyof typeof source, string>> = {
  'settings.looks': 'Este navegador',
  'settings.theme': 'Tema',
  'settings.theme.system': 'Como el sistema',
  'settings.theme.light': 'Claro',
  'settings.theme.dark': 'Oscuro',
  'settings.language': 'Idioma',
  'settings.server': 'Orquestador',
  'settings.address': 'Dirección:',
  'settings.version': 'Versión:',
};
