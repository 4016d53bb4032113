import { configsApi } from '../../../protocol/configs-api.ts';
import { isOn } from '../flags.ts';
import { readConfig, readConfigWithFiles } from '../jobs/config-argument.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { plain } from '../table.ts';
import { configName, takesConfig } from './name.ts';

export const put: RemoteSpec = {
  name: 'put',
  description:
    'Make a config of a file of this machine, with the files that it names; jobs that were submitted before keep what they had',
  shape: command =>
    takesConfig(command)
      .argument('<file>', 'the file, in JSON, YAML or TOML')
      .option('--replace', 'also where there is one of this name')
      .option('--config-only', 'without the files that it names, which are on the server already'),
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
      remote.terminal.err(`No job can be submitted by it yet: ${plain(warning)}\n`);
  },
};
