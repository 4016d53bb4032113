import { settingsApi, type SettingsView } from '../../../protocol/settings-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { printRows } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Remote } from '../remote.ts';
import type { Column } from '../table.ts';
import { type SettingKey, settingKeys, valueText } from './keys.ts';

interface Row extends Readonly<Record<string, unknown>> {
  readonly name: string;
  readonly value: boolean | number | string | null;
  readonly fixed_by: string | null;
}

const columns: readonly Column<Row>[] = [
  { title: 'SETTING', text: ({ name }) => name },
  { title: 'VALUE', text: ({ value }) => valueText(value) },
  { title: 'FIXED BY', text: ({ fixed_by: by }) => by ?? '' },
];

/** Prints these settings; `--json` prints the server's whole response. */
export function printSettings(remote: Remote, answer: SettingsView, keys: readonly SettingKey[]): void {
  const rows = keys.map(key => ({
    name: key.name,
    value: key.value(answer),
    fixed_by: key.fixedBy(answer),
  }));
  printRows(remote, { answer, rows, columns, none: 'The server has no settings' });
}

/** Ends the command when the setting does not exist. */
export const findKey = (name: string): SettingKey =>
  settingKeys.find(key => key.name === name) ??
  fail(
    exitCodes.usage,
    `There is no setting "${name}": give one of ${settingKeys.map(key => key.name).join(', ')}`,
  );

export const get: RemoteSpec = {
  name: 'get',
  isDefault: true,
  description: 'Show server settings, and the flags or files that override them',
  shape: command => command.argument('[settings...]', 'names of settings, such as public_url (default: all)'),
  async act(remote, names) {
    const keys = names.length === 0 ? settingKeys : names.map(findKey);
    printSettings(remote, await remote.ask(settingsApi.get), keys);
  },
};
