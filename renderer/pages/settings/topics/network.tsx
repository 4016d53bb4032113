import type { SettingsState } from '../../../app/settings.tsx';
import { Network } from '../network.tsx';

export const NetworkTopic = ({ settings, change }: SettingsState) =>
  settings !== null && <Network settings={settings} change={change} />;
