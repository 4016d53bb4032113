import { parseArgs } from 'node:util';
import { linkAmong } from './link.ts';

/** What the app is started with. Electron and the system put words of their own beside these. */
export interface Arguments {
  /** As `trainyard server` takes them, by name. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  /** Without a window, until somebody opens it: how it starts with the session. */
  readonly isHidden: boolean;
  /** What somebody has clicked on. */
  readonly link: string | null;
}

const known = ['data-dir', 'configs-dir', 'port', 'host', 'config'] as const;

export function readArguments(args: readonly string[]): Arguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...Object.fromEntries(known.map(name => [name, { type: 'string' } as const])),
      hidden: { type: 'boolean' },
    },
    strict: false,
  });
  const flags = known.flatMap(name => {
    const value = values[name];
    return typeof value === 'string' ? [[name, value] as const] : [];
  });
  return { flags: Object.fromEntries(flags), isHidden: values['hidden'] === true, link: linkAmong(args) };
}
