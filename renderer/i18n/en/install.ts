/** Texts of the panel as an installed app. */
export const install = {
  'install.newVersion': 'A new version of the panel is available.',
  'install.reload': 'Reload',
} as const;

export type InstallKey = keyof typeof install;
