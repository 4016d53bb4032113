import { settingsApi, type SettingsView } from '../../../protocol/settings-api.ts';
import { exitCodes, fail } from '../failure.ts';
import { readInput } from '../flags.ts';
import { printRows } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import type { Remote } from '../remote.ts';
import type { Column } from '../table.ts';
import { nestFields, type SettingKey, settingKeys, valueFrom, valueText } from './keys.ts';

interface Row extends Readonly<Record<string, unknown>> {
  readonly name: string;
  readonly value: boolean | number | string | null;
  readonly fixed_by: string | null;
}

const columns: readonly Column<Row>[] = [
  { title: 'SETTING', text: ({ name }) => name },
  { title: 'VALUE', text: ({ value }) => valueText(value) },
  { title: 'OVERRIDDEN BY', text: ({ fixed_by: by }) => by ?? '' },
];

/** Prints these settings. With `--json`, prints the server's whole response. */
function printSettings(remote: Remote, answer: SettingsView, keys: readonly SettingKey[]): void {
  const rows = keys.map(key => ({
    name: key.name,
    value: key.value(answer),
    fixed_by: key.fixedBy(answer),
  }));
  printRows(remote, { answer, rows, columns, none: 'The server has no settings' });
}

/** Finds a setting by name; ends the command when there is none. */
const findKey = (name: string): SettingKey =>
  settingKeys.find(key => key.name === name) ??
  fail(
    exitCodes.usage,
    `Unknown setting "${name}". Known settings: ${settingKeys.map(key => key.name).join(', ')}`,
  );

const get: RemoteSpec = {
  name: 'get',
  isDefault: true,
  description: 'Show server settings, and the flags or files that override them',
  shape: command => command.argument('[settings...]', 'names of settings, such as public_url (default: all)'),
  async act(remote, names) {
    const keys = names.length === 0 ? settingKeys : names.map(findKey);
    printSettings(remote, await remote.request(settingsApi.get), keys);
  },
};

const set: RemoteSpec = {
  name: 'set',
  description: 'Change settings of the running server. If it rejects one setting, it changes none',
  shape: command =>
    command.argument(
      '<settings...>',
      'NAME=VALUE, such as public_url=https://yard.example.org; "none" removes a value; switches are yes or no',
    ),
  async act(remote, words) {
    const changes = words.map(word => {
      const at = word.indexOf('=');
      if (at < 1) fail(exitCodes.usage, `"${word}" is not in the form NAME=VALUE`);
      const key = findKey(word.slice(0, at));
      const text = word.slice(at + 1);
      const value = valueFrom(key, text);
      if (value === undefined)
        return fail(exitCodes.usage, `${key.name}: expected ${key.kind}, not "${text}"`);
      return { key, value };
    });
    const change = nestFields(new Map(changes.map(({ key, value }) => [key.name, value])));
    const body = readInput(settingsApi.change.body, change, {});
    const answer = await remote.request(settingsApi.change, { body });
    printSettings(
      remote,
      answer,
      changes.map(({ key }) => key),
    );
  },
};

/** Subcommands of `trainyard settings`, in the order of the help. */
export const settingsCommands: readonly RemoteSpec[] = [get, set];
