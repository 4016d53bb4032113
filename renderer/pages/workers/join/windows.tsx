import { Fragment } from 'react';
import { useT } from '../../../i18n/index.ts';
import type { Joining } from './join-commands.ts';
import { Secret } from './secret.tsx';
import { useJoinT } from './texts.tsx';
import { windowsCommand } from './windows-commands.ts';

/** Shows the commands for PowerShell. Without an executable for Windows, a note explains the use of Node. */
export function WindowsCommands({ joining }: { readonly joining: Joining }) {
  const t = useT();
  const joinT = useJoinT();
  const ways = (['start', 'service'] as const).flatMap(way => {
    const command = windowsCommand(joining, way);
    return command === null ? [] : [{ way, command }];
  });
  if (ways.length === 0) return <p>{joinT('windows.none')}</p>;
  return (
    <>
      <p>{joinT('windows.run')}</p>
      {typeof joining.windowsExecutable !== 'string' && (
        <p className="worker-notice" role="note">
          {joinT('windows.node')}
        </p>
      )}
      {ways.map(({ way, command }) => (
        <Fragment key={way}>
          <p>{joinT(`windows.${way}`)}</p>
          <Secret text={command} token={joining.token} label={t('workers.issued.copyCommand')} />
        </Fragment>
      ))}
    </>
  );
}
