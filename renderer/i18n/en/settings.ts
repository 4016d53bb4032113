export const settings = {
  'settings.looks': 'This browser',
  'settings.theme': 'Theme',
  'settings.theme.system': 'As the system',
  'settings.theme.light': 'Light',
  'settings.theme.dark': 'Dark',
  'settings.language': 'Language',
  'settings.server': 'Orchestrator',
  'settings.address': 'Address:',
  'settings.version': 'Version:',
} as const;
