import { configsApi } from '../../../protocol/configs-api.ts';
import { isOn } from '../flags.ts';
import { readConfig, readConfigWithFiles } from '../jobs/config-argument.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { plain } from '../table.ts';
import { configName, takesConfig } from './name.ts';

export const put: RemoteSpec = {
  name: 'put',
  description: 'Save a local file as a config, with the files that it names',
  examples: [
    'trainyard configs put my-config ./config.json',
    'trainyard configs put my-config ./config.yaml --replace',
  ],
  shape: command =>
    takesConfig(command)
      .argument('<file>', 'JSON, YAML or TOML file')
      .option('--replace', 'replace an existing config')
      .option('--config-only', 'omit the files that it names; they must be on the server'),
  async act(remote, [word, file = '']) {
    const name = configName(word);
    const headers: Record<string, string> = isOn(remote.flags, 'replace') ? {} : { 'if-none-match': '*' };
    const { config, files } = isOn(remote.flags, 'config-only')
      ? { config: readConfig(file), files: {} }
      : await readConfigWithFiles(file);
    const params = { name };
    const answer =
      Object.keys(files).length === 0
        ? await remote.ask(configsApi.put, { params, body: config, headers })
        : await remote.ask(configsApi.putWithFiles, { params, body: { config, files }, headers });
    printOne(remote, {
      answer,
      facts: [
        [answer.created ? 'Made' : 'Replaced', answer.name],
        ['File', answer.file],
        ...Object.keys(files).map(path => ['With', path] as const),
      ],
    });
    for (const warning of answer.warnings)
      remote.terminal.err(`Jobs cannot use this config yet: ${plain(warning)}\n`);
  },
};
