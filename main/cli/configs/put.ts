import { configsApi } from '../../../protocol/configs-api.ts';
import { isOn } from '../flags.ts';
import { readConfig } from '../jobs/config-argument.ts';
import { printOne } from '../output.ts';
import type { RemoteSpec } from '../remote-command.ts';
import { plain } from '../table.ts';
import { configName, takesConfig } from './name.ts';

export const put: RemoteSpec = {
  name: 'put',
  description: 'Make a config of a file of this machine; jobs that were submitted before keep what they had',
  shape: command =>
    takesConfig(command)
      .argument('<file>', 'the file, in JSON, YAML or TOML')
      .option('--replace', 'also where there is one of this name'),
  async act(remote, [word, file = '']) {
    const name = configName(word);
    const body = readConfig(file);
    const headers: Record<string, string> = isOn(remote.flags, 'replace') ? {} : { 'if-none-match': '*' };
    const answer = await remote.ask(configsApi.put, { params: { name }, body, headers });
    printOne(remote, {
      answer,
      facts: [
        [answer.created ? 'Made' : 'Replaced', answer.name],
        ['File', answer.file],
      ],
    });
    for (const warning of answer.warnings)
      remote.terminal.err(`No job can be submitted by it yet: ${plain(warning)}\n`);
  },
};
